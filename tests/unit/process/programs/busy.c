/* A program that never stops allocating. With the argument `signals`, a signal handler interrupts
 * the threads at any place and runs for a while; `alone` is the same with one thread. With `vfork`, a
 * thread allocates and then waits in the kernel for its child, again and again; a second argument is
 * the child's duration in microseconds. Each line on stdin is answered, except with `alone`. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 300, SPIN = 100000, TICK_US = 1000, CHILD_US = 40000 };

static void *work(void *number)
{
    void *blocks[BLOCKS] = {0};
    for (unsigned dice = 12345 + (unsigned)(size_t)number;;) {
        dice = dice * 1103515245 + 12345;
        void **place = &blocks[(dice >> 8) % BLOCKS];
        free(*place);
        *place = malloc((dice >> 20) % 2000 + 1);
    }
    return NULL;
}

static void spin(int signal)
{
    (void)signal;
    for (volatile int i = 0; i < SPIN; i++)
        ;
}

static void *wait_for_children(void *duration)
{
    for (;;) {
        free(malloc(100));
        pid_t child = vfork();
        if (child == 0) {
            usleep(*(unsigned *)duration);
            _exit(0);
        }
        free(malloc(100));
        waitpid(child, NULL, 0);
        spin(0);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    char line[16];
    pthread_t thread;
    const char *mode = count > 1 ? arguments[1] : "";
    unsigned duration = count > 2 ? (unsigned)atoi(arguments[2]) : CHILD_US;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "signals") == 0 || strcmp(mode, "alone") == 0) {
        struct itimerval tick = {{0, TICK_US}, {0, TICK_US}};
        signal(SIGPROF, spin);
        setitimer(ITIMER_PROF, &tick, NULL);
    }
    if (strcmp(mode, "alone") == 0) {
        printf("ready %d\n", (int)getpid());
        work(NULL);
    }
    if (strcmp(mode, "vfork") == 0)
        pthread_create(&thread, NULL, wait_for_children, &duration);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, (void *)i);
    printf("ready %d\n", (int)getpid());
    while (fgets(line, sizeof line, stdin) != NULL)
        puts("alive");
    return 0;
}
