/* Threads of a trace as real threads. One thread at a time executes events, in the order of the
 * trace.
 *
 * Thread 0 is the process's own thread. Every other thread starts at its first event and ends at
 * its end in the trace. It is joined before the next event. The memory that starts a thread is
 * shared memory, not memory of malloc, and is not counted, because a recorded trace contains the
 * requests for it. In other traces, thread 0 makes these requests before the first event, as if it
 * had started all threads. */
#ifndef SIMALLOC_NATIVE_THREADS_H
#define SIMALLOC_NATIVE_THREADS_H

#include "trace.h"

/* Executes the events in [begin, end), all of one thread, in that thread. Returns `end`, or the
 * event at which it stopped. */
typedef size_t carry_out(void *context, size_t begin, size_t end);

/* Executes all events. Returns the number of executed events. If events remain, `error` is 0 if the
 * allocator has refused the next event, or else the error of starting its thread. */
size_t threads_pass(const struct trace *trace, carry_out *work, void *context, int *error);

/* Ends all threads that the trace does not end. */
void threads_end(void);

#endif
