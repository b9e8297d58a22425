/* Large blocks, and how much of each the program has written: pages that are not resident when the
 * block is freed were never written, or were returned to the system by the program itself. */
#ifndef SIMALLOC_RECORDING_LARGE_H
#define SIMALLOC_RECORDING_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LARGE_BLOCK = 32 << 10 }; /* bytes; blocks below are not measured */

/* Bytes of the whole pages of a block that are not resident; 0 if it cannot be told. */
uint64_t large_unwritten(uintptr_t address, size_t bytes);

/* Remembers a large block until it is freed, for the program's end and for who looks from outside.
 * What finds no room is not measured if it is never freed. `sequence` is the number of a record
 * that was written since it was taken. */
void large_taken(uintptr_t address, size_t bytes, uint64_t sequence);
void large_freed(uintptr_t address);

/* Calls `measured` for each block that is remembered and not written whole. */
void large_each(void (*measured)(uintptr_t address, uint64_t unwritten));

#endif
