/* A recording is mapped, and whoever may write it may also cut it off while it is read. */
#ifndef SIMALLOC_RECORDING_GUARD_H
#define SIMALLOC_RECORDING_GUARD_H

#include <stdbool.h>

/* Calls `work`, which must hold no lock. Returns false if it read a mapped file beyond its end, and
 * was broken off there. */
bool guarded(void (*work)(void *argument), void *argument);

#endif
