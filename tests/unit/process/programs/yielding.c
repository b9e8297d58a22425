/* Threads that only yield the processor until the input ends. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 8 }; /* more than processors, so that nearly all wait in sched_yield */

static void *yield(void *unused)
{
    for (;;)
        sched_yield();
    return unused;
}

int main(void)
{
    pthread_t thread;
    char line[16];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, yield, NULL);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (read(0, line, sizeof line) > 0)
        ;
    _exit(0);
}
