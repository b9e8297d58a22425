/* Which part of a thread's stack is certain to be readable. */
#ifndef SIMALLOC_RECORDING_BOUNDS_H
#define SIMALLOC_RECORDING_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Gets to know the stack of the calling thread, once in its life. Signals must be blocked. */
void stack_find_bounds(void);

/* Whether the word at `address` and the next one can be read: an address at the stack pointer `sp`
 * or above it. Asks the kernel only beyond the thread's own stack, as far as that is known. */
bool stack_is_readable(uintptr_t sp, uintptr_t address);

#endif
