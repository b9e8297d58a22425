#define _GNU_SOURCE
#include "worker.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *of)
{
    struct worker *worker = of;
    pthread_mutex_lock(&worker->lock);
    worker->number = (pid_t)syscall(SYS_gettid);
    while (!worker->ending) {
        if (worker->task == NULL) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        worker->task(worker->argument);
        worker->task = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

int worker_start(struct worker *worker)
{
    sigset_t all, before;
    *worker = (struct worker){.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    worker->started = error == 0;
    return error;
}

void worker_run(struct worker *worker, void (*task)(void *argument), void *argument)
{
    pthread_mutex_lock(&worker->lock);
    worker->task = task;
    worker->argument = argument;
    pthread_cond_broadcast(&worker->changed);
    while (worker->task != NULL)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
}

void worker_end(struct worker *worker)
{
    if (!worker->started)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->ending = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    /* The kernel detaches after the join. */
    while (syscall(SYS_tgkill, getpid(), worker->number, 0) == 0)
        sched_yield();
    worker->started = false;
}
