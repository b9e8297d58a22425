/* Bins by address for many blocks: binary heaps in arrays.
 *
 * In a linked heap (bin_heap.h), a search for the lowest child follows links, each at the cost of a
 * cache miss. In this form, all blocks of a bin except the first are in an array, together with
 * their addresses. Entries 0 to FAN - 1 are the children of the first block. The FAN entries from
 * FAN * (i + 1) on are the children of entry i. No child is lower than its parent. `index_slot` of
 * a block is its entry, or STATE_FREE for the first block of a bin.
 *
 * The arrays share one table, in which each array has a room. A full array moves to a room of twice
 * the size at the end of the table. Before a batch of events for which the table might be too
 * small, all arrays move to a new table. */
#ifndef SIMALLOC_BIN_ARRAY_H
#define SIMALLOC_BIN_ARRAY_H

#include "index/size/bin.h"

/* Numbers of free blocks from which arrays are used, and down to which they remain in use. Most
 * programs soon reuse the blocks that they have freed, which linked heaps keep near their root. The
 * shipped traces with the most free blocks, up to 240,000, run 20 to 40 % slower in arrays. */
enum { ARRAYS_FROM = 1 << 18, ARRAYS_TO = ARRAYS_FROM / 4 };

struct __attribute__((packed, aligned(4))) bin_entry {
    uint64_t address;
    uint32_t block;
};

struct bin_array {
    size_t start; /* index of its first entry in the table */
    size_t room;  /* maximum number of entries; 0 or a power of two */
    uint32_t count;
};

struct bin_arrays {
    struct bin_entry *table;
    size_t capacity;
    size_t used;              /* entries from this index on are in no room */
    uint32_t bins;            /* number of bins */
    struct bin_array array[]; /* by bin */
};

/* Makes arrays from linked heaps, whose links become invalid. Returns NULL, without a change, if
 * memory is exhausted. */
struct bin_arrays *bin_arrays_make(const uint32_t *bins, uint32_t count, struct block *blocks,
                                   const uint32_t *siblings, uint64_t free_blocks);
/* Makes linked heaps from arrays. */
void bin_arrays_link(const struct bin_arrays *arrays, uint32_t *bins, struct block *blocks,
                     uint32_t *siblings);
void bin_arrays_release(struct bin_arrays *arrays);

/* Reserves the entries for a batch of events. Returns false if memory is exhausted. */
bool bin_arrays_reserve(struct bin_arrays *arrays, uint64_t free_blocks);

/* Do the same as bin_heap_insert() and bin_heap_remove(). */
bool bin_array_insert(struct bin_arrays *arrays, uint32_t *bins, uint32_t number,
                      struct block *blocks, uint32_t block);
bool bin_array_remove(struct bin_arrays *arrays, uint32_t *bins, uint32_t number,
                      struct block *blocks, uint32_t block);

const char *bin_array_check(struct bin_check *check, uint32_t number, uint32_t first);

#endif
