/* Large blocks and their unwritten bytes. A page that is not resident when its block is freed was
 * never written, or the program itself returned it to the system. */
#ifndef SIMALLOC_RECORDING_LARGE_H
#define SIMALLOC_RECORDING_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LARGE_BLOCK = 32 << 10 }; /* minimum bytes of a large block; smaller blocks are not
                                  * measured */

/* Returns the bytes of a block's whole pages that are not resident, or 0 if that is unknown. */
uint64_t large_unwritten(uintptr_t address, size_t bytes);

/* Stores a large block until it is freed, for the program's end and for readers outside the
 * process. A block that does not fit in the table is measured only if it is freed. `sequence` is
 * the number of a record that was written after the block was allocated. */
void large_taken(uintptr_t address, size_t bytes, uint64_t sequence);
void large_freed(uintptr_t address);

/* Calls `measured` for each stored block with unwritten pages. */
void large_each(void (*measured)(uintptr_t address, uint64_t unwritten));

#endif
