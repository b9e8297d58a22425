/* Large blocks, and how much of each the program has written: pages that are not resident when the
 * block is freed were never written, or were returned to the system by the program itself. */
#ifndef SIMALLOC_RECORDING_LARGE_H
#define SIMALLOC_RECORDING_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LARGE_BLOCK = 32 << 10 }; /* bytes; blocks below are not measured */

/* Returns the bytes of a block's whole pages that are not resident, or 0 if that is unknown. */
uint64_t large_unwritten(uintptr_t address, size_t bytes);

/* Stores a large block until it is freed, for the program's end and for readers outside the
 * process. A block that does not fit the table is not measured if it is never freed. `sequence` is
 * the number of a record that was written after the block was allocated. */
void large_taken(uintptr_t address, size_t bytes, uint64_t sequence);
void large_freed(uintptr_t address);

/* Calls `measured` for each stored block that is not completely written. */
void large_each(void (*measured)(uintptr_t address, uint64_t unwritten));

#endif
