# MuPDF extracting the Debian policy's structured text from its PDF.
# Packages: mupdf-tools debian-policy
gunzip -c /usr/share/doc/debian-policy/policy.pdf.gz > policy.pdf
$RECORD mutool draw -q -F stext.json -o policy.json policy.pdf
