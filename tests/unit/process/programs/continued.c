/* Allocates with threads that take turns, waits, and continues.
 *
 * Its arguments are the number of threads and the number of blocks, at most BLOCKS. It makes
 * `FIRST` calls and prints "ready PID". After a line of input it makes the remaining calls, prints
 * all calls as "CALL THREAD OLD SIZE ALIGNMENT NEW", with the program's addresses, then "done".
 * Threads are numbered in the order of their creation; the first thread is 0. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 1500, FIRST = 9000, SMALL = 3000, CALLS = 15000, MAX_THREADS = 8 };

struct call {
    char kind; /* m, c, r, l or f, as in a trace */
    int thread;
    void *old;
    size_t size;
    size_t alignment;
    void *new;
};

static void *block[BLOCKS];
static uint32_t places = BLOCKS;
static struct call calls[CALLS];
static sem_t requested[MAX_THREADS], obeyed;
static struct call *request;
static uint32_t state = 4711;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

static void carry_out(struct call *call)
{
    switch (call->kind) {
    case 'm':
        call->new = malloc(call->size);
        break;
    case 'c':
        call->new = calloc(1, call->size);
        break;
    case 'r':
        call->new = realloc(call->old, call->size);
        break;
    case 'l':
        call->new = memalign(call->alignment, call->size);
        break;
    default:
        free(call->old);
    }
    if (call->new != NULL)
        memset(call->new, 1, call->size);
}

static void *obey(void *number)
{
    for (;;) {
        sem_wait(&requested[(intptr_t)number]);
        carry_out(request);
        sem_post(&obeyed);
    }
    return NULL;
}

static void let(struct call *call)
{
    request = call;
    if (call->thread == 0) {
        carry_out(call);
        return;
    }
    sem_post(&requested[call->thread]);
    sem_wait(&obeyed);
}

/* small blocks only, which fill the fast bins; a large request would empty the bins */
static int only_small;

static size_t draw_size(void)
{
    if (only_small)
        return 1 + draw(60);
    uint32_t kind = draw(20);
    return 1 + (kind == 0 ? draw(300000) : kind < 4 ? draw(5000) : draw(300));
}

/* Draws a call on one of the blocks, and lets a thread execute it. */
static void step(struct call *call, int threads)
{
    void **place = &block[draw(places)];
    *call = (struct call){.thread = (int)draw((uint32_t)threads), .old = *place};
    if (*place == NULL) {
        uint32_t kind = draw(10);
        call->kind = kind == 0 ? 'c' : kind == 1 ? 'l' : 'm';
        call->size = draw_size();
        call->alignment = call->kind == 'l' ? (size_t)32 << draw(4) : 0;
    } else if (draw(5) == 0) {
        call->kind = 'r';
        call->size = draw_size();
    } else {
        call->kind = 'f';
    }
    let(call);
    *place = call->new;
}

int main(int count, char **words)
{
    int threads = count > 1 ? atoi(words[1]) : 1;
    if (count > 2)
        places = (uint32_t)atoi(words[2]);
    char line[16];
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    sem_init(&obeyed, 0, 0);
    for (intptr_t i = 1; i < threads && i < MAX_THREADS; i++) {
        sem_init(&requested[i], 0, 0);
        pthread_create(&thread, NULL, obey, (void *)i);
    }
    for (int i = 0; i < FIRST; i++) {
        only_small = i > FIRST - SMALL;
        step(&calls[i], threads);
    }
    only_small = 0;
    printf("ready %d\n", (int)getpid());
    if (read(0, line, sizeof line) <= 0)
        return 1;
    for (int i = FIRST; i < CALLS; i++)
        step(&calls[i], threads);
    for (int i = 0; i < CALLS; i++)
        printf("%c %d %#lx %zu %zu %#lx\n", calls[i].kind, calls[i].thread,
               (unsigned long)calls[i].old, calls[i].size, calls[i].alignment,
               (unsigned long)calls[i].new);
    printf("done\n");
    while (read(0, line, sizeof line) > 0)
        ;
    _exit(0);
}
