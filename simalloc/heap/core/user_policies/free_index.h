/* One order of free blocks, for a heap that keeps several orders at once.
 *
 * block_list and size_index write a block's `index_slot`, so a block can be in one of them only. An
 * index here therefore works on a shadow: a block table of its own, under the same ids, that copies
 * the address and the size of the blocks it holds. */
#ifndef SIMALLOC_FREE_INDEX_H
#define SIMALLOC_FREE_INDEX_H

#include "index/list/block_list.h"
#include "index/size/size_index.h"

enum free_order {
    BY_ADDRESS,
    BY_AGE,    /* oldest first; newest first if read from the end */
    RING_LIFO, /* next fit's list: a block enters before the rover, and the rover moves to it */
    RING_FIFO, /* as RING_LIFO, but the rover stays */
    BEST_LIFO, /* by size, and among equals newest first */
    BEST_FIFO,
    BEST_ADDRESS,
    FREE_ORDERS
};

struct free_index {
    struct heap shadow; /* only `blocks`, `capacity` and `used` are valid: ids from `used` on have
                         * never entered */
    enum free_order order;
    bool roving;      /* true for a list that has been used by next fit */
    uint32_t rover;   /* block where next fit starts, or NO_BLOCK if it is not roving or the list is
                       * empty */
    union {
        struct block_list list; /* for orders before BEST_LIFO */
        struct size_index sizes;
    };
};

/* Result of a search, and the number of blocks that a walk would have visited. */
struct found_block {
    uint32_t block; /* block, or NO_BLOCK */
    uint64_t visited;
};

/* Opens an empty index of blocks whose sizes are multiples of the largest power of two in `unit`.
 * Returns false when memory is exhausted. */
bool free_index_open(struct free_index *index, enum free_order order, uint64_t unit);
void free_index_close(struct free_index *index);
/* Ensures that ids below `capacity` can enter. */
bool free_index_reserve(struct free_index *index, uint32_t capacity);

/* `entered` is the time at which the block entered the lists, a number that rises. */
void free_index_insert(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered);
void free_index_remove(struct free_index *index, uint32_t id);
/* Sets the address and size of a block that keeps its place. */
void free_index_change(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered);

/* In all searches `size` is a multiple of the unit. */

/* Returns a list's first block of at least `size` bytes behind block `after` (NO_BLOCK: from the
 * front), or with `backwards` the last such block of all. */
struct found_block free_index_first(struct free_index *index, uint64_t size, uint32_t after,
                                    bool backwards);
/* Returns a list's first block of at least `size` bytes from the rover on, and moves the rover to
 * it. At the first call the rover is at the front. */
struct found_block free_index_next(struct free_index *index, uint64_t size);
/* Returns a list's first block of the maximum size, or with `backwards` the last. */
struct found_block free_index_largest(struct free_index *index, bool backwards);
/* Returns the smallest block of at least `size` bytes in an order by size. */
uint32_t free_index_best(const struct free_index *index, uint64_t size);
/* Writes the blocks of a list in order. */
void free_index_blocks(struct free_index *index, uint32_t *blocks);

/* Returns a description of the first fault in the index of `listed` blocks, or NULL. */
const char *free_index_check(const struct free_index *index, uint64_t listed);

#endif
