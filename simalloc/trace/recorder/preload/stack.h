/* The stack of the calling thread. */
#ifndef SIMALLOC_RECORDING_STACK_H
#define SIMALLOC_RECORDING_STACK_H

#include <stddef.h>
#include <stdint.h>

/* Returns the number of times that libraries have been unloaded. Cached addresses may be invalid
 * when it has changed. */
uint32_t stack_epoch(void);

/* Initialises the module, once per process. Returns false when memory is exhausted. */
_Bool stack_begin(void);

/* Reverts stack_begin(). No other thread may run. */
void stack_forget(void);

/* Initialises a thread. Signals must be blocked. */
void stack_begin_thread(void);

/* Writes the return addresses from `caller` outward: at least one and at most `most`. `caller` must
 * be the return address of one of our callers. Allocates nothing. Returns the number of
 * addresses. */
size_t stack_from(const void *caller, uintptr_t *addresses, size_t most);

#endif
