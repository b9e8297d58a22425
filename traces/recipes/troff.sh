# groff's troff formatting the manual pages of bash and of Perl's and util-linux's programs.
# Packages: groff-base bash
gunzip -c /usr/share/man/man1/bash.1.gz > bash.1
$RECORD troff -man -Tutf8 bash.1 bash.1 bash.1 > bash.out
