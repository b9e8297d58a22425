# Redis as a cache of 24 MB that evicts the least recently used entry, under a generated load.
# Packages: redis-server redis-tools mawk
mawk 'BEGIN {
  text = "x"
  while (length(text) < 16384) text = text text
  for (i = 0; i < 200000; i++) {
    state = (state * 69069 + 12345) % 4294967296
    share = state / 4294967296
    page = int(40000 * share * share)  # low numbers are asked for most
    size = 40 + page * 7919 % (page % 10 ? 400 : 16000)
    if (i % 5 == 0)
      printf "HINCRBY visits:%d day:%d 1\r\n", page % 700, i / 5000
    else if (i % 5 < 3)
      printf "GET page:%d\r\n", page
    else
      printf "SET page:%d %s\r\n", page, substr(text, 1, size)
  }
}' > load
$RECORD redis-server --port 0 --unixsocket "$HOME/socket" --save '' --maxmemory 24mb \
  --maxmemory-policy allkeys-lru > log &
trap 'kill $!' EXIT
until redis-cli -s socket ping > /dev/null 2>&1; do sleep 0.1; done
redis-cli -s socket --pipe < load > answers
redis-cli -s socket info > info
redis-cli -s socket shutdown nosave
trap - EXIT
wait
