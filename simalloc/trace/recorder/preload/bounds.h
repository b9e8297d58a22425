/* The part of a thread's stack that is known to be readable. */
#ifndef SIMALLOC_RECORDING_BOUNDS_H
#define SIMALLOC_RECORDING_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Finds the bounds of the calling thread's stack, once per thread. Signals must be blocked. */
void stack_find_bounds(void);

/* Returns whether the word at `address` and the next word are readable. `address` must be at or
 * above the stack pointer `sp`. Only an address outside the known stack needs a system call. */
bool stack_is_readable(uintptr_t sp, uintptr_t address);

#endif
