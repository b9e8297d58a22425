/* Growing tables of entries that are indexed by number.
 *
 * A table begins at a cache line, so that an entry whose size divides 64 bytes is always within one
 * line. The parameter `table` is the address of the pointer to the entries. NULL with a capacity of
 * 0 is an empty table. Each function that returns bool returns false, without a change, if memory
 * or numbers are exhausted. */
#ifndef SIMALLOC_TABLE_H
#define SIMALLOC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enlarges a table with `used` entries of `width` bytes, to at most `most` entries, so that `spare`
 * entries are free for each of several batches. */
bool table_grow(void *table, size_t width, uint32_t used, uint64_t spare, uint32_t most,
                uint32_t *capacity);

/* Resizes a table to `wanted` entries and keeps the old entries. */
bool table_resize(void *table, size_t width, uint32_t *capacity, uint32_t wanted);

/* Enlarges a table so that it has an entry `number`. The new entries are zero. */
bool table_cover(void *table, size_t width, uint32_t *capacity, uint32_t number);

/* Returns a table of `count` zero entries, or NULL if memory is exhausted. */
void *table_make(size_t width, uint32_t count);

void table_release(void *entries);

/* Reserves `spare` entries beyond the used entries. */
#define TABLE_SPARE(entries, used, spare, most, capacity)  \
    (LIKELY((uint64_t)(used) + (spare) <= (capacity)) ||   \
     table_grow(&(entries), sizeof *(entries), used, spare, most, &(capacity)))

/* Enlarges a table to the capacity `wanted` of another table. */
#define TABLE_FOLLOW(entries, capacity, wanted) \
    (LIKELY((capacity) >= (wanted)) ||          \
     table_resize(&(entries), sizeof *(entries), &(capacity), wanted))

/* Ensures that entry `number` exists. Entries that were never written are zero. */
#define TABLE_COVER(entries, capacity, number) \
    (LIKELY((number) < (capacity)) ||          \
     table_cover(&(entries), sizeof *(entries), &(capacity), number))

#endif
