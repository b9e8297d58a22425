/* The server benchmark of Larson and Krishnan (ISMM 1998), with the sizes of mimalloc-bench. Each
 * of 8 workers keeps 5,000 blocks of 8 to 999 bytes, and replaces a random block 500,000 times.
 * Then it starts a thread that continues with its blocks, and exits. Prints the processor time of
 * the process in nanoseconds per replacement. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORKERS = 8, BLOCKS = 5000, TURNS = 500000, GENERATIONS = 2, LEAST = 8, MOST = 1000 };

struct worker {
    char *block[BLOCKS];
    uint32_t state;
    int generation;
};

static struct worker workers[WORKERS];
static pthread_barrier_t done;

static uint32_t drawn(struct worker *worker)
{
    worker->state = worker->state * 1664525 + 1013904223;
    return worker->state >> 8;
}

static char *fresh(struct worker *worker)
{
    char *volatile block = malloc(LEAST + drawn(worker) % (MOST - LEAST));
    block[0] = 1;
    return block;
}

static void *work(void *of)
{
    struct worker *worker = of;
    pthread_t next;
    for (int turn = 0; turn < TURNS; turn++) {
        char **block = &worker->block[drawn(worker) % BLOCKS];
        free(*block);
        *block = fresh(worker);
    }
    if (++worker->generation == GENERATIONS)
        pthread_barrier_wait(&done);
    else if (pthread_create(&next, NULL, work, worker) != 0 || pthread_detach(next) != 0)
        abort();
    return NULL;
}

int main(void)
{
    struct timespec used;
    pthread_t first;
    pthread_barrier_init(&done, NULL, WORKERS + 1);
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i].state = i;
        for (int each = 0; each < BLOCKS; each++)
            workers[i].block[each] = fresh(&workers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&first, NULL, work, &workers[i]) != 0 || pthread_detach(first) != 0)
            return EXIT_FAILURE;
    pthread_barrier_wait(&done);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    double nanoseconds = 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
    printf("%.1f\n", nanoseconds / ((double)WORKERS * GENERATIONS * TURNS));
    return EXIT_SUCCESS;
}
