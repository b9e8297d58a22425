# git showing a history of 400 generated commits with their changes and statistics.
# Packages: git mawk wamerican
git init -q -b main history
mawk 'BEGIN {
  while ((getline word < "/usr/share/dict/words") > 0) words[count++] = word
  for (commit = 1; commit <= 400; commit++) {
    printf "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n", 1e9 + 3600 * commit
    text = "Change " words[commit * 211 % count] "\n"
    printf "data %d\n%s", length(text), text
    for (change = 0; change < 5; change++) {
      file = (commit * 7 + change * 13) % 40
      text = ""
      for (line = 0; line < 300; line++) {
        if (line % 31 == commit % 31) edited[file, line] = commit * 17
        text = text words[(file * 2003 + line * 37 + edited[file, line]) % count] " " line "\n"
      }
      printf "M 100644 inline %s/%d.txt\ndata %d\n%s\n", words[file * 997], file, length(text), text
    }
  }
}' | git -C history fast-import --quiet
$RECORD git -C history --no-pager log --patch --stat --find-renames > log
