/* A program that does little except allocate and free, to measure the cost of recording.
 *
 * Usage: churn EVENTS LIVE DEPTH THREADS. Each thread keeps LIVE blocks. It repeatedly frees a
 * random block and allocates another, mostly a small one. All threads together make EVENTS events.
 * Each allocation is DEPTH calls deep, on one of 16 paths. Prints the processor time in nanoseconds
 * per event. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t roll(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 16;
}

/* The last calls of a path are left() or right(), by the bits of `path`. */
static void *right(size_t size, unsigned path, unsigned depth);

static __attribute__((noinline)) void *left(size_t size, unsigned path, unsigned depth)
{
    if (depth == 0)
        return malloc(size);
    char *block = depth <= 4 && path >> (depth - 1) & 1 ? right(size, path, depth - 1)
                                                        : left(size, path, depth - 1);
    *block = 1;
    return block;
}

static __attribute__((noinline)) void *right(size_t size, unsigned path, unsigned depth)
{
    if (depth == 0)
        return malloc(size);
    char *block = left(size, path, depth - 1);
    *block = 2;
    return block;
}

static size_t pairs, live;
static unsigned depth;

static void *churn(void *number)
{
    uint64_t state = 88172645463325252u + (uintptr_t)number;
    char **blocks = calloc(live, sizeof *blocks);
    for (size_t i = 0; i < pairs; i++) {
        uint64_t die = roll(&state);
        char **block = &blocks[(die >> 12) % live];
        free(*block);
        *block = left(die % 8 ? 16 + die % 120 : 16 + die % 2048, die >> 40 & 15, depth);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    enum { MOST = 64 };
    pthread_t thread[MOST];
    if (count != 5)
        return 2;
    size_t threads = strtoul(arguments[4], NULL, 10);
    threads = threads < MOST ? threads : MOST;
    pairs = strtoul(arguments[1], NULL, 10) / 2 / threads;
    live = strtoul(arguments[2], NULL, 10);
    depth = (unsigned)strtoul(arguments[3], NULL, 10);
    double start = now();
    for (uintptr_t i = 1; i < threads; i++)
        pthread_create(&thread[i], NULL, churn, (void *)i);
    churn(NULL);
    for (size_t i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%.2f\n", (now() - start) / (2 * (double)pairs * (double)threads));
    return 0;
}
