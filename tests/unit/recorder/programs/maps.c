/* Maps memory by itself, writes one part of it, unmaps another, moves a third, and waits. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20, RIGHTS = PROT_READ | PROT_WRITE, FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };

__attribute__((noinline)) char *pool_of(size_t bytes)
{
    char *got = mmap(NULL, bytes, RIGHTS, FLAGS, -1, 0);
    return got == MAP_FAILED ? (char *)(abort(), NULL) : got;
}

__attribute__((noinline)) char *larger(char *from, size_t bytes, size_t new_bytes)
{
    char *got = mremap(from, bytes, new_bytes, MREMAP_MAYMOVE);
    return got == MAP_FAILED ? (char *)(abort(), NULL) : got;
}

int main(void)
{
    char *pool = pool_of(16 * MIB);
    memset(pool, 1, 5 * MIB);
    munmap(pool + 8 * MIB, 4 * MIB);
    char *moved = larger(pool_of(MIB), MIB, 2 * MIB);
    memset(moved, 1, 2 * MIB);
    free(malloc(100));
    usleep(1300000);
}
