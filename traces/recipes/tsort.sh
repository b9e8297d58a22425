# tsort ordering 400,000 random pairs: a tree that only grows, as in LRUsim.
# Packages: coreutils mawk
mawk 'BEGIN {
  for (i = 0; i < 400000; i++) {
    state = (state * 69069 + 12345) % 4294967296
    from = int(state / 4294967296 * 250000)
    print "node" from, "node" from + 1 + state % 1000
  }
}' > pairs
$RECORD tsort pairs > sorted
