/* Starts and ends threads that allocate and free, without a pause, until its input ends. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 6, BLOCKS = 300 };

static void *run(void *left)
{
    void *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc((size_t)(i * 37) % 3000);
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    return left;
}

static void *come_and_go(void *unused)
{
    pthread_t thread[THREADS];
    for (;;) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, run, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    char line[16];
    setvbuf(stdout, NULL, _IONBF, 0);
    pthread_create(&thread, NULL, come_and_go, NULL);
    printf("ready %d\n", (int)getpid());
    while (read(0, line, sizeof line) > 0)
        ;
    _exit(0);
}
