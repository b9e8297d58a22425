# zstd compresses seven files of 20 MB one after the other, each with four threads.
# Packages: zstd mawk
mawk 'BEGIN {
  for (i = 0; i < 600000; i++) {
    state = (state * 69069 + 12345) % 4294967296
    printf "%d %s line %d of %x\n", i % 977, substr("abcdefghijklmnopqrstuvwxyz", 1 + i % 20, 6), i, state
  }
}' > text
for part in 1 2 3 4 5 6; do cp text text$part; done
$RECORD zstd -q -T4 -9 text text1 text2 text3 text4 text5 text6
