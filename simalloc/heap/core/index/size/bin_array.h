/* Bins by address for many blocks: binary heaps in arrays.
 *
 * In a linked heap (bin_heap.h) the children of a block are found one after the other, each at the
 * price of a cache miss. Here all blocks of a bin except the first are stored in an array with
 * their addresses. The children of the first block are the entries 0 to FAN - 1, the children of
 * entry i are the FAN entries from FAN * (i + 1), and no child is lower than its parent.
 * `index_slot` of a block is its entry, and STATE_FREE for the first block of a bin.
 *
 * The arrays share one table, each in its own room. A full array moves to a room twice as large at
 * the end of the table. Before the table could run out of room within a batch of events, all arrays
 * move to a new table. */
#ifndef SIMALLOC_BIN_ARRAY_H
#define SIMALLOC_BIN_ARRAY_H

#include "index/size/bin.h"

/* Numbers of free blocks at which arrays start, and stop, to be faster. Most programs soon reuse
 * the blocks that they have freed, which linked heaps keep near their root: the shipped traces with
 * the most free blocks, up to 240,000, run 20 to 40 % slower in arrays. */
enum { ARRAYS_FROM = 1 << 18, ARRAYS_TO = ARRAYS_FROM / 4 };

struct __attribute__((packed, aligned(4))) bin_entry {
    uint64_t address; /* address of the block */
    uint32_t block;
};

struct bin_array {
    size_t start; /* its first entry in the table */
    size_t room;  /* entries that it may have there; 0, or a power of two */
    uint32_t count;
};

struct bin_arrays {
    struct bin_entry *table;
    size_t capacity;
    size_t used;              /* entries before this one may be in a room, no others */
    uint32_t bins;            /* their number */
    struct bin_array array[]; /* by number of bin */
};

/* Makes the arrays of linked heaps whose links are good for nothing then; NULL, with all as it was,
 * when memory is exhausted. */
struct bin_arrays *bin_arrays_make(const uint32_t *bins, uint32_t count, struct block *blocks,
                                   const uint32_t *siblings, uint64_t free_blocks);
/* Makes linked heaps of arrays again. */
void bin_arrays_link(const struct bin_arrays *arrays, uint32_t *bins, struct block *blocks,
                     uint32_t *siblings);
void bin_arrays_release(struct bin_arrays *arrays);

/* Makes sure that a batch of events finds room enough; false when memory is exhausted. */
bool bin_arrays_reserve(struct bin_arrays *arrays, uint64_t free_blocks);

/* The same as bin_heap_insert() and bin_heap_remove(). */
bool bin_array_insert(struct bin_arrays *arrays, uint32_t *bins, uint32_t number,
                      struct block *blocks, uint32_t block);
bool bin_array_remove(struct bin_arrays *arrays, uint32_t *bins, uint32_t number,
                      struct block *blocks, uint32_t block);

const char *bin_array_check(struct bin_check *check, uint32_t number, uint32_t first);

#endif
