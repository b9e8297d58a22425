/* Stops all threads of a process with ptrace, and later lets them continue unaffected. */
#ifndef SIMALLOC_TRACER_H
#define SIMALLOC_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum thread_state {
    THREAD_RUNNING, /* interrupted but not yet stopped: the thread stops before it runs the program
                     * again */
    THREAD_STOPPED,
    THREAD_GONE
};

struct thread {
    pid_t number;
    int signal; /* pending signal, which the thread receives when it continues, or 0 */
    enum thread_state state;
    bool interrupted; /* true if the thread is running but will stop soon */
    size_t lock;      /* index + 1 of the lock for which the thread was let go, or 0 if unknown */
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

/* Attaches to all threads and stops them. All further calls must come from the same thread. Returns 0 or an errno. A thread that waits in the kernel
 * and cannot be stopped there counts as stopped. On failure, no thread stays attached. */
int tracer_stop(struct tracer *tracer, pid_t process);

/* Lets threads that execute code in one of the ranges run until all locks are free. `locks` are the
 * addresses of the arenas' locks: 32-bit words that are 0 if free. Threads with the address of such
 * a lock in registers or on the stack run first. Returns the number of rounds, or -1 if a lock is
 * still held after many rounds. */
int tracer_settle(struct tracer *tracer, const uint64_t *locks, size_t lock_count,
                  const struct range *code, size_t code_count);

/* Stops all threads that were let go, and all new threads. Returns whether all threads are
 * stopped. */
bool tracer_interrupt(struct tracer *tracer);

/* Lets a stopped thread continue, with its pending signal. */
void tracer_let_go(struct thread *thread);

/* Waits until a thread has stopped or ended, or `deadline` has passed. */
void tracer_await(struct thread *thread, int64_t deadline);

/* tracer_now() returns the monotonic clock, and tracer_pause() waits; both in nanoseconds. */
int64_t tracer_now(void);
void tracer_pause(long nanoseconds);

/* Returns whether no thread waits in the kernel, where it cannot be stopped. */
bool tracer_all_stopped(const struct tracer *tracer);

/* Waits until the threads that wait in the kernel have stopped, while the other threads run. Returns
 * whether all threads are then stopped. */
bool tracer_await_kernel(struct tracer *tracer);

/* Lets all threads continue, with their pending signals. A thread that waits in the kernel remains
 * attached until the calling thread ends (tracing.h). */
void tracer_release(struct tracer *tracer);

/* Detaches from all stopped threads that are not among the `kept` threads, and lets them
 * continue. */
void tracer_keep(struct tracer *tracer, const uint64_t *kept, size_t count);

/* Stores the address of a thread's list of robust locks in `*head`. Returns -1, with errno set, if
 * the address may not be read. */
int thread_robust_list(pid_t thread, uint64_t *head);

#endif
