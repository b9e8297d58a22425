/* Stops all threads of a process by ptrace, and lets them go as if nothing had happened. */
#ifndef SIMALLOC_TRACER_H
#define SIMALLOC_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum thread_state {
    THREAD_RUNNING, /* interrupted, not stopped yet: it stops before it runs the program again */
    THREAD_STOPPED,
    THREAD_GONE
};

struct thread {
    pid_t number;
    int signal; /* a signal that it is about to get, and does when it goes on; 0: none */
    enum thread_state state;
    bool interrupted; /* true if it stops soon although it runs */
    size_t lock;      /* index + 1 of the lock for which it was let go; 0: unknown */
};

struct tracer {
    pid_t process;
    struct thread *threads;
    size_t count;
    size_t capacity;
};

struct range {
    uint64_t start;
    uint64_t end;
};

/* Attaches to all threads and stops them; returns 0, or an errno. A thread that waits in the kernel
 * and cannot be stopped there counts as stopped. On failure nothing stays attached. */
int tracer_stop(struct tracer *tracer, pid_t process);

/* Lets threads that execute code in one of the ranges run until none of the 32-bit words at the
 * addresses, the locks of arenas, is set. Threads that know the address of such a lock run first.
 * Returns the number of rounds, or -1 if a lock is still set after
 * many. */
int tracer_settle(struct tracer *tracer, const uint64_t *locks, size_t lock_count,
                  const struct range *code, size_t code_count);

/* Stops all threads that were let go, and new ones. Returns whether all threads are stopped. */
bool tracer_interrupt(struct tracer *tracer);

/* Lets a stopped thread go on, with the signal that it was about to get. */
void tracer_let_go(struct thread *thread);

/* Waits until a thread has stopped or ended, or `deadline` has passed. */
void tracer_await(struct thread *thread, int64_t deadline);

/* The monotonic clock, and a wait; nanoseconds. */
int64_t tracer_now(void);
void tracer_pause(long nanoseconds);

/* Lets all threads go on, with the signals that they were about to get. */
void tracer_release(struct tracer *tracer);

/* Lets all stopped threads go on that are not among the `kept` ones. They are no longer attached. */
void tracer_keep(struct tracer *tracer, const uint64_t *kept, size_t count);

/* Puts the address of a thread's list of robust locks into `*head`; returns -1 with errno set if it
 * may not be known. */
int thread_robust_list(pid_t thread, uint64_t *head);

#endif
