/* The threads of a trace, as many real ones, of which one at a time works: in the trace's order.
 *
 * Thread 0 is the process's own. The others are started at their first event, and ended where the trace
 * says so: they are joined before the next event. What starting a thread takes comes from elsewhere
 * than malloc, and lies in shared memory, which is not counted: in a recorded trace it is among the
 * events. For other traces thread 0 asks for it before the first event, as if it had started all. */
#ifndef SIMALLOC_NATIVE_THREADS_H
#define SIMALLOC_NATIVE_THREADS_H

#include "trace.h"

/* Carries out events of one thread, in it, from `begin` to before `end`; returns where it stopped. */
typedef size_t carry_out(void *context, size_t begin, size_t end);

/* Carries out all events and returns how many were; if they are fewer than the trace's, `error` is 0
 * where the allocator has refused the next one, or else why no thread could be started for it. */
size_t threads_pass(const struct trace *trace, carry_out *work, void *context, int *error);

/* Ends the threads that the trace leaves running. */
void threads_end(void);

#endif
