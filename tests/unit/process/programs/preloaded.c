/* Allocates, frees a third, and prints the preloaded allocator's report on itself: "allocated
 * BYTES" for jemalloc, "blocks NUMBER" for the live blocks, "ready PID". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 20000 };

static void *block[BLOCKS];

int main(void)
{
    char end[8];
    size_t live = 0, allocated = 0, length = sizeof allocated;
    uint64_t epoch = 1;
    int (*control)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT, "mallctl");
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(20 + i % 900 + (i % 100 == 0 ? 20000 : 0));
        memset(block[i], 1, 16);
    }
    for (size_t i = 0; i < BLOCKS; i += 3) {
        free(block[i]);
        block[i] = NULL;
    }
    for (size_t i = 0; i < BLOCKS; i++)
        live += block[i] != NULL;
    if (control != NULL) {
        control("thread.tcache.flush", NULL, NULL, NULL, 0);
        control("epoch", NULL, NULL, &epoch, sizeof epoch);
        control("stats.allocated", &allocated, &length, NULL, 0);
    }
    printf("allocated %zu\nblocks %zu\nready %d\n", allocated, live, (int)getpid());
    return (int)read(0, end, sizeof end);
}
