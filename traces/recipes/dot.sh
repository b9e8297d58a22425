# Graphviz drawing a random directed graph.
# Packages: graphviz mawk
mawk 'BEGIN {
  print "digraph random {"
  for (i = 1; i < 900; i++) {
    state = (state * 69069 + 12345) % 4294967296
    print "a" int(i * state / 4294967296), "-> a" i " [label=\"edge " i "\"]"
    if (i % 4 == 0) print "a" i / 4, "-> a" i
  }
  print "}"
}' > random.dot
$RECORD dot -Tsvg -o random.svg random.dot
