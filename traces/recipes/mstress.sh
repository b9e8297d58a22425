# Short-lived threads that pass blocks of all sizes to each other, as in mimalloc's test mstress.
# Packages: gcc libc6-dev
cat > mstress.c <<'C'
/* 5 times 8 threads at once: each allocates 2,500 times in bunches of one size, frees some, and
 * swaps others with blocks of a shared shelf, which threads of later rounds find there. Between two
 * requests it computes for some microseconds, so that the threads are there at the same time. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 5, REQUESTS = 2500, KEPT = 600, SHELF = 1000, STEPS = 4000 };

static void *shelf[SHELF];

static unsigned draw(unsigned *state)
{
    *state = *state * 69069 + 12345;
    return *state >> 8;
}

static unsigned compute(unsigned start)
{
    for (int step = 0; step < STEPS; step++)
        draw(&start);
    return start;
}

/* Mostly small; one in 100 times 100, one in 10,000 times 1,000. */
static void *fresh(unsigned *state)
{
    size_t size = 16 + draw(state) % 256;
    unsigned kind = draw(state) % 10000;
    size *= kind == 0 ? 1000 : kind < 100 ? 100 : 1;
    return memset(malloc(size), 1, size);
}

static void *work(void *argument)
{
    void *kept[KEPT] = {0};
    unsigned state = (unsigned)(size_t)argument;
    volatile unsigned result = state;
    for (int request = 0; request < REQUESTS; request++) {
        unsigned at = draw(&state) % KEPT;
        free(kept[at]);
        kept[at] = fresh(&state);
        result = compute(result);
        if (draw(&state) % 4 == 0) {
            unsigned from = draw(&state) % KEPT, to = draw(&state) % SHELF;
            kept[from] = __atomic_exchange_n(&shelf[to], kept[from], __ATOMIC_ACQ_REL);
        }
    }
    for (int at = 0; at < KEPT; at++)
        free(kept[at]);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)(size_t)(round * THREADS + i));
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int at = round % 2; at < SHELF; at += 2) {
            free(shelf[at]);
            shelf[at] = NULL;
        }
    }
    return 0;
}
C
gcc -O2 -pthread -o mstress mstress.c
$RECORD ./mstress
