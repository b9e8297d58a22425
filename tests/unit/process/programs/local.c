/* Two threads with 100 KB of thread-local variables each, and blocks in both thread caches. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 100000, BLOCKS = 5 };

static _Thread_local volatile char local[BYTES];
static pthread_barrier_t barrier;

static void fill_cache(void)
{
    void *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc(100);
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    local[BYTES - 1] = 1;
}

static void *run(void *unused)
{
    fill_cache();
    pthread_barrier_wait(&barrier);
    pause();
    return unused;
}

int main(void)
{
    pthread_t thread;
    alarm(60);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, run, NULL);
    fill_cache();
    pthread_barrier_wait(&barrier);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}
