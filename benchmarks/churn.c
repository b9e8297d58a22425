/* A program that does little but allocate and free, to measure what recording costs.
 *
 * Usage: churn EVENTS LIVE DEPTH. LIVE blocks are kept; one of them at random is freed and
 * allocated anew, small sizes mostly, until there were EVENTS events. Each allocation is DEPTH calls
 * deep, on one of 16 paths. Prints the processor time that took, in nanoseconds an event. */
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

static uint64_t roll(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

/* A path turns left or right in its last calls. */
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

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    size_t pairs = strtoul(arguments[1], NULL, 10) / 2;
    size_t live = strtoul(arguments[2], NULL, 10);
    unsigned depth = (unsigned)strtoul(arguments[3], NULL, 10);
    char **blocks = calloc(live, sizeof *blocks);
    double start = now();
    for (size_t i = 0; i < pairs; i++) {
        uint64_t die = roll();
        char **block = &blocks[(die >> 12) % live];
        free(*block);
        *block = left(die % 8 ? 16 + die % 120 : 16 + die % 2048, die >> 40 & 15, depth);
    }
    printf("%.2f\n", (now() - start) / (2 * (double)pairs));
    return 0;
}
