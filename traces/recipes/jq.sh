# jq grouping and reshaping a generated array of objects.
# Packages: jq mawk wamerican
mawk 'BEGIN {
  printf "["
  while ((getline word < "/usr/share/dict/words") > 0)
    if (word ~ /^[a-z]+$/ && ++i % 4 == 0)
      printf "%s{\"word\": \"%s\", \"length\": %d, \"tags\": [\"%s\", %d]}\n", \
        comma++ ? "," : "", word, length(word), substr(word, 1, 1), i % 17
  print "]"
}' > words.json
$RECORD jq 'group_by(.length) | map({length: .[0].length, words: map(.word | ascii_upcase),
  tags: (map(.tags[0]) | unique), by_tag: (map({(.tags[0]): .word}) | add)})' words.json > grouped
