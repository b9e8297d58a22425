/* The stack of the calling thread. */
#ifndef SIMALLOC_RECORDING_STACK_H
#define SIMALLOC_RECORDING_STACK_H

#include <stddef.h>
#include <stdint.h>

/* How often libraries have been unloaded: what was known of addresses before may be wrong now. */
uint32_t stack_epoch(void);

/* Gets ready, once in a process; false if there is no memory. */
_Bool stack_begin(void);

/* Forgets what stack_begin got ready. No other thread may run. */
void stack_forget(void);

/* Gets ready in a thread. Signals must be blocked. */
void stack_begin_thread(void);

/* Writes the return addresses from `caller` outward, which one of our callers has, `most` of them
 * at most and at least that one. Allocates nothing. Returns how many there are. */
size_t stack_from(const void *caller, uintptr_t *addresses, size_t most);

#endif
