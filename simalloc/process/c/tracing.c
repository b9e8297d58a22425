#define _GNU_SOURCE
#include "tracing.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *of)
{
    struct tracing *tracing = of;
    pthread_mutex_lock(&tracing->lock);
    tracing->number = (pid_t)syscall(SYS_gettid);
    while (!tracing->ending) {
        if (tracing->task == NULL) {
            pthread_cond_wait(&tracing->changed, &tracing->lock);
            continue;
        }
        tracing->task(&tracing->tracer, tracing->argument);
        tracing->task = NULL;
        pthread_cond_broadcast(&tracing->changed);
    }
    tracer_release(&tracing->tracer);
    pthread_mutex_unlock(&tracing->lock);
    return NULL;
}

struct start {
    pid_t process;
    int error;
};

static void stop_process(struct tracer *tracer, void *of)
{
    struct start *start = of;
    start->error = tracer_stop(tracer, start->process);
}

int tracing_start(struct tracing *tracing, pid_t process)
{
    sigset_t all, before;
    struct start start = {.process = process};
    *tracing = (struct tracing){.lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER};
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    start.error = pthread_create(&tracing->thread, NULL, work, tracing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    tracing->started = start.error == 0;
    tracing_run(tracing, stop_process, &start);
    return start.error;
}

void tracing_run(struct tracing *tracing, tracing_task *task, void *argument)
{
    if (!tracing->started)
        return;
    pthread_mutex_lock(&tracing->lock);
    tracing->task = task;
    tracing->argument = argument;
    pthread_cond_broadcast(&tracing->changed);
    while (tracing->task != NULL)
        pthread_cond_wait(&tracing->changed, &tracing->lock);
    pthread_mutex_unlock(&tracing->lock);
}

void tracing_end(struct tracing *tracing)
{
    if (!tracing->started)
        return;
    pthread_mutex_lock(&tracing->lock);
    tracing->ending = true;
    pthread_cond_broadcast(&tracing->changed);
    pthread_mutex_unlock(&tracing->lock);
    pthread_join(tracing->thread, NULL);
    /* The kernel detaches after the join. */
    while (syscall(SYS_tgkill, getpid(), tracing->number, 0) == 0)
        sched_yield();
    tracing->started = false;
}
