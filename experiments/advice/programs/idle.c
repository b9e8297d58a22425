/* Idle threads: each thread works once in turn, keeps a few objects, and then waits forever. With
 * one arena per thread, no other thread reuses the memory that a thread has freed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "held.h"

enum { THREADS = 16, OBJECTS = 6000, KEPT_OF = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *work(void *number) {
    void **held = calloc(OBJECTS, sizeof *held);
    pthread_mutex_lock(&lock);
    while (turn != (int)(size_t)number)
        pthread_cond_wait(&changed, &lock);
    for (int i = 0; i < OBJECTS; i++)
        memset(held[i] = malloc(100 + i % 300), 1, 100 + i % 300);
    for (int i = 0; i < OBJECTS; i++)
        if (i % KEPT_OF)
            free(held[i]);
    turn++;
    pthread_cond_broadcast(&changed);
    while (turn >= 0) /* wait forever */
        pthread_cond_wait(&changed, &lock);
    return held;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    int started = count > 1 ? atoi(arguments[1]) : THREADS;
    for (int i = 0; i < started; i++)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    pthread_mutex_lock(&lock);
    while (turn != started)
        pthread_cond_wait(&changed, &lock);
    print_held();
    fflush(stdout);
    _exit(EXIT_SUCCESS); /* the recording also ends here, while the threads still wait */
}
