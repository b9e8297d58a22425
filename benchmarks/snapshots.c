/* Threads that allocate and free blocks at random until they are killed.
 *
 * Usage: snapshots THREADS MEBIBYTES. Each thread counts its allocations. The main thread prints
 * their sum for each line on stdin. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    uint64_t rounds;
    uint32_t random;
    uint32_t slots;
};

static uint32_t draw(struct worker *worker)
{
    worker->random = worker->random * 1664525 + 1013904223;
    return worker->random >> 8;
}

/* Allocates and frees blocks as a server does: most have less than 1,000 bytes, and 1 in 32 up to
 * 40,000 bytes, so that the heap is trimmed. */
static void *work(void *given)
{
    struct worker *worker = given;
    void **block = calloc(worker->slots, sizeof *block);
    if (block == NULL)
        abort();
    for (;;) {
        void **slot = &block[draw(worker) % worker->slots];
        free(*slot);
        size_t size = draw(worker) % 32 == 0 ? draw(worker) % 40000 : draw(worker) % 1000;
        *slot = malloc(size);
        if (*slot != NULL)
            memset(*slot, 1, size);
        __atomic_fetch_add(&worker->rounds, 1, __ATOMIC_RELAXED);
    }
}

int main(int count, char **words)
{
    enum { MEAN_BYTES = 1100 };
    if (count != 3)
        return 2;
    unsigned threads = (unsigned)strtoul(words[1], NULL, 10);
    unsigned long bytes = strtoul(words[2], NULL, 10) << 20;
    struct worker *workers = calloc(threads, sizeof *workers);
    if (workers == NULL || threads == 0)
        return 2;
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        workers[i].random = i;
        workers[i].slots = (uint32_t)(bytes / threads / MEAN_BYTES) + 1;
        if (pthread_create(&thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t rounds = 0;
        for (unsigned i = 0; i < threads; i++)
            rounds += __atomic_load_n(&workers[i].rounds, __ATOMIC_RELAXED);
        printf("%llu\n", (unsigned long long)rounds);
        fflush(stdout);
    }
    return 0;
}
