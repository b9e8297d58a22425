/* Calls functions of a stopped process in one of its threads. */
#ifndef SIMALLOC_CALLER_H
#define SIMALLOC_CALLER_H

#include "tracer.h"

/* Memory of the C library, the loader and the allocator. */
struct allocator_memory {
    const struct range *code;
    size_t code_count;
    const struct range *data;
    size_t data_count;
    const uint64_t *restorers; /* addresses to which signal handlers return */
    size_t restorer_count;
};

enum { CALL_ARGUMENTS = 6 };

struct call {
    uint64_t entry;    /* entry of the program: its code never runs again and is overwritten by the
                        * call */
    uint64_t function;
    uint64_t arguments[CALL_ARGUMENTS];
    uint64_t stack; /* end of memory for the call's stack, or 0 to use the thread's own stack */
    bool alone;     /* true if no other thread may run during the call, which then must not wait for
                     * one */
};

/* Lets threads run until no thread is executing code of the allocator or the loader. With
 * `everyone`, also waits until every thread is stopped, also those that wait in the kernel. Returns
 * the number of threads that still execute such code after many rounds, or -1 if the threads could
 * not be stopped again. */
int tracer_leave(struct tracer *tracer, const struct allocator_memory *memory, bool everyone);

/* Returns a stopped thread that is outside the allocator and the loader, or NULL. Prefers a thread
 * whose stack shows no signal handler, because a handler may have interrupted the allocator. Stores
 * in `*interrupted` whether the stack of the returned thread shows one. */
struct thread *tracer_outside(struct tracer *tracer, const struct allocator_memory *memory,
                              bool *interrupted);

/* Calls a function in a stopped thread, restores the thread's state, and stores the function's
 * result in `*result`. If the call does not end soon, all other threads run until it ends, unless
 * it must be alone. Returns 0 or an errno. EFAULT means that a signal ended the call; the thread's
 * state is then restored too. */
int tracer_call(struct tracer *tracer, struct thread *thread, const struct call *call,
                uint64_t *result);

/* Writes bytes into the process. Returns 0 or an errno. */
int tracer_write(const struct tracer *tracer, uint64_t address, const void *bytes, size_t count);

/* Returns the thread pointer of a stopped thread, or 0 if unknown. */
uint64_t tracer_thread_pointer(const struct thread *thread);

#endif
