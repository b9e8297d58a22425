/* Tables of numbered entries, from which a batch of events may take new ones.
 *
 * A table begins with a cache line, so that no entry whose size divides 64 bytes lies in two. */
#ifndef SIMALLOC_TABLE_H
#define SIMALLOC_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Makes a table larger of which `used` entries of `width` bytes are in use, so that some batches
 * find `spare` entries each. Returns where it is and its new capacity, at most `most`; NULL, with
 * all as it was, when memory or numbers are exhausted. */
void *table_grow(void *entries, size_t width, uint32_t used, uint64_t spare, uint32_t most,
                 uint32_t *capacity);

/* Gives a table the memory for so many entries, of which `used` are kept; NULL, with all as it was,
 * when memory is exhausted. */
void *table_resize(void *entries, size_t width, uint32_t used, uint32_t capacity);

void table_release(void *entries);

#endif
