# xsltproc turning a generated DocBook book into HTML.
# Packages: xsltproc docbook-xsl wamerican mawk
mawk 'BEGIN {
  while ((getline word < "/usr/share/dict/words") > 0) words[count++] = word
  print "<book><title>Words</title>"
  for (chapter = 0; chapter < 12; chapter++) {
    printf "<chapter id=\"c%d\"><title>%s</title>", chapter, words[chapter * 3001]
    for (section = 0; section < 8; section++) {
      printf "<section><title>%s</title>", words[at += 7]
      for (item = 0; item < 5; item++) {
        printf "<para>%s <emphasis>%s</emphasis>", words[at += 11], words[at += 13]
        for (i = 0; i < 30; i++) printf " %s", words[at = (at + 17) % count]
        printf " <xref linkend=\"c%d\"/></para>\n", (chapter + item) % 12
      }
      print "</section>"
    }
    print "</chapter>"
  }
  print "</book>"
}' > book.xml
$RECORD xsltproc --nonet -o book.html \
  /usr/share/xml/docbook/stylesheet/docbook-xsl/html/docbook.xsl book.xml 2> messages
