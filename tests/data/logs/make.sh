#!/bin/sh
# Records the logs in this directory anew. Debian 12: gcc g++ valgrind ltrace heaptrack zstd.
set -eu
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
gcc -w -O0 -pthread requests.c -o "$build/requests"
gcc -w -O0 -pthread -DMTRACE requests.c -o "$build/mtraced"
g++ -O0 -std=c++17 containers.cc -o "$build/containers"

valgrind -q --trace-malloc=yes --log-file=requests.valgrind "$build/requests"
valgrind -q --trace-malloc=yes --log-file=containers.valgrind "$build/containers"
MALLOC_TRACE=requests.mtrace LD_PRELOAD=libc_malloc_debug.so.0 "$build/mtraced"
family=malloc+calloc+realloc+reallocarray+free+memalign+aligned_alloc+posix_memalign+valloc
ltrace -f -ttt -e "$family" -o requests.ltrace "$build/requests"
entries=$(printf "+%s@libc*" $(echo "$family" | tr + ' '))
ltrace -f -ttt -L -x "${entries#+}" -o requests.entries.ltrace "$build/requests"
ltrace -e 'malloc+free+@libstdc*' -o containers.ltrace "$build/containers"
heaptrack --raw -o "$build/raw" "$build/requests" >/dev/null
heaptrack -o "$build/interpreted" "$build/requests" >/dev/null
mv "$build/raw.raw.zst" requests.heaptrack.raw.zst
mv "$build/interpreted.zst" requests.heaptrack.zst
# Replace the paths of this machine.
for log in requests.*.zst; do
    zstd -dcq "$log" | sed "s|$build|.|g" | zstd -q -19 -f -o "$log.new" && mv "$log.new" "$log"
done
sed -i "s|$build|.|g" requests.mtrace
