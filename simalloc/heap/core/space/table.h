/* Tables of entries by number, which grow.
 *
 * A table begins with a cache line, so that no entry whose size divides 64 bytes lies in two. Where
 * a function takes `table`, it is where the address of the entries is kept; NULL, and a capacity of
 * 0, is a table without entries. Each returns false, with all as it was, when memory or numbers are
 * exhausted. */
#ifndef SIMALLOC_TABLE_H
#define SIMALLOC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enlarges a table with `used` entries of `width` bytes, so that several batches find `spare`
 * entries each, to at most `most` entries. */
bool table_grow(void *table, size_t width, uint32_t used, uint64_t spare, uint32_t most,
                uint32_t *capacity);

/* Resizes a table to `wanted` entries and keeps the old entries. */
bool table_resize(void *table, size_t width, uint32_t *capacity, uint32_t wanted);

/* Gives a table more entries than a number, all of them zero that are new. */
bool table_cover(void *table, size_t width, uint32_t *capacity, uint32_t number);

/* Returns a table of `count` zero entries, or NULL if memory is exhausted. */
void *table_make(size_t width, uint32_t count);

void table_release(void *entries);

/* Makes sure of `spare` entries beyond the used ones. */
#define TABLE_SPARE(entries, used, spare, most, capacity)  \
    (LIKELY((uint64_t)(used) + (spare) <= (capacity)) ||   \
     table_grow(&(entries), sizeof *(entries), used, spare, most, &(capacity)))

/* Makes sure of as many entries as another table has. */
#define TABLE_FOLLOW(entries, capacity, wanted) \
    (LIKELY((capacity) >= (wanted)) ||          \
     table_resize(&(entries), sizeof *(entries), &(capacity), wanted))

/* Makes sure of the entry of a number; those that nobody wrote are zero. */
#define TABLE_COVER(entries, capacity, number) \
    (LIKELY((number) < (capacity)) ||          \
     table_cover(&(entries), sizeof *(entries), &(capacity), number))

#endif
