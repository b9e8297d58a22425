/* A thread that traces a process and runs tasks, one after another, for the thread that has started
 * it.
 *
 * The kernel allows ptrace calls only from the thread that has attached. When that thread ends, the
 * kernel detaches from all threads that it still traces, also from those that wait in the kernel
 * and could not be detached before. */
#ifndef SIMALLOC_TRACING_H
#define SIMALLOC_TRACING_H

#include "tracer.h"

#include <pthread.h>

typedef void tracing_task(struct tracer *tracer, void *argument);

struct tracing {
    struct tracer tracer; /* the traced process; only tasks may use ptrace */
    pthread_t thread;
    pid_t number; /* the kernel's number of the thread */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tracing_task *task; /* task to run, or NULL if the thread is idle */
    void *argument;
    bool started; /* false before tracing_start() and after tracing_end() */
    bool ending;
};

/* Starts the thread, with all signals blocked, and stops the process (tracer_stop). Returns 0 or an
 * errno. */
int tracing_start(struct tracing *tracing, pid_t process);

/* Runs a task in the thread, and returns when the task has ended. Has no effect if the thread is not
 * started. */
void tracing_run(struct tracing *tracing, tracing_task *task, void *argument);

/* Lets the process continue (tracer_release), ends the thread, and returns when the kernel has
 * detached from the process. Has no effect if the thread is not started. */
void tracing_end(struct tracing *tracing);

#endif
