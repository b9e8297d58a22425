/* The threads of a trace as real threads: one thread works at a time, in the trace's order.
 *
 * Thread 0 is the process's own. The others are started at their first event, and end at their end
 * in the trace: they are joined before the next event. The memory that starts a thread is shared
 * memory, not malloc's, and is not counted, because a recorded trace has its requests. In other
 * traces thread 0 makes them before the first event, as if it had started all threads. */
#ifndef SIMALLOC_NATIVE_THREADS_H
#define SIMALLOC_NATIVE_THREADS_H

#include "trace.h"

/* Executes events of one thread, in it, from `begin` to before `end`. Returns the event where it
 * stopped. */
typedef size_t carry_out(void *context, size_t begin, size_t end);

/* Executes all events and returns the number of executed ones. If events are left, `error` is 0 if
 * the allocator has refused the next event, or the error of starting its thread. */
size_t threads_pass(const struct trace *trace, carry_out *work, void *context, int *error);

/* Ends the threads that the trace leaves running. */
void threads_end(void);

#endif
