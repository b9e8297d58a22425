/* Protection against truncation. A recording is read through a mapping, and any process that may
 * write to the file may also truncate it meanwhile. */
#ifndef SIMALLOC_RECORDING_GUARD_H
#define SIMALLOC_RECORDING_GUARD_H

#include <stdbool.h>

/* Calls `work`, which must hold no lock. Returns false if `work` read beyond the end of a mapped
 * file and was interrupted there. */
bool guarded(void (*work)(void *argument), void *argument);

#endif
