/* A thread that runs tasks, one after another, for the thread that has started it.
 *
 * The kernel allows ptrace calls only from the thread that has attached. When that thread ends, the
 * kernel detaches from all threads that it still traces, also from those that wait in the kernel
 * and could not be detached before. */
#ifndef SIMALLOC_WORKER_H
#define SIMALLOC_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct worker {
    pthread_t thread;
    pid_t number; /* the kernel's number of the thread */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*task)(void *argument); /* task to run, or NULL if the thread is idle */
    void *argument;
    bool started; /* false before worker_start() and after worker_end() */
    bool ending;
};

/* Starts the thread, with all signals blocked. Returns 0 or an errno. */
int worker_start(struct worker *worker);

/* Runs a task in the thread, and returns when the task has ended. */
void worker_run(struct worker *worker, void (*task)(void *argument), void *argument);

/* Ends the thread, and returns when the kernel has detached it. Has no effect if it is not
 * started. */
void worker_end(struct worker *worker);

#endif
