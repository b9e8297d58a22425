# Poppler laying out the text of the Debian policy's PDF.
# Packages: poppler-utils debian-policy
gunzip -c /usr/share/doc/debian-policy/policy.pdf.gz > policy.pdf
$RECORD pdftotext -layout policy.pdf policy.txt
