/* One order of free blocks, for a heap that keeps several orders at once.
 *
 * block_list and size_index write `index_slot` of a block, so that a block can be in only one of
 * them. An index of this file therefore works on a shadow, its own block table with the same ids,
 * which copies the address and size of its blocks. */
#ifndef SIMALLOC_FREE_INDEX_H
#define SIMALLOC_FREE_INDEX_H

#include "index/list/block_list.h"
#include "index/size/size_index.h"

enum free_order {
    BY_ADDRESS,
    BY_AGE,    /* oldest first, or newest first if it is read from the end */
    RING_LIFO, /* list for next fit: a block enters before the rover, and the rover moves to it */
    RING_FIFO, /* like RING_LIFO, but the rover does not move */
    BEST_LIFO, /* by size and, for equal sizes, newest first */
    BEST_FIFO,
    BEST_ADDRESS,
    FREE_ORDERS
};

struct free_index {
    struct heap shadow; /* only `blocks`, `capacity` and `used` are valid; ids from `used` on were
                         * never inserted */
    enum free_order order;
    bool roving;      /* true if next fit has searched the list */
    uint32_t rover;   /* block at which next fit starts; NO_BLOCK unless roving, or in an empty
                       * list */
    union {
        struct block_list list; /* lists, for orders before BEST_LIFO */
        struct size_index sizes;
    };
};

/* Result of a search, with the number of blocks that a walk would have visited. */
struct found_block {
    uint32_t block; /* id, or NO_BLOCK */
    uint64_t visited;
};

/* Initialises an empty index. The largest power of two in `unit` divides the size of every block.
 * Returns false if memory is exhausted. */
bool free_index_open(struct free_index *index, enum free_order order, uint64_t unit);
void free_index_close(struct free_index *index);
/* Ensures entries for ids below `capacity`. Returns false if memory is exhausted. */
bool free_index_reserve(struct free_index *index, uint32_t capacity);

/* Inserts a block. `entered` is its time of entry into the lists, an increasing number. */
void free_index_insert(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered);
void free_index_remove(struct free_index *index, uint32_t id);
/* Updates the address and size of a block that keeps its place. */
void free_index_change(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered);

/* In all searches, `size` is a multiple of the unit. */

/* Returns the first block of a list with at least `size` bytes after block `after`, or from the
 * front if `after` is NO_BLOCK. If `backwards` is set, returns the last such block of the whole
 * list. */
struct found_block free_index_first(struct free_index *index, uint64_t size, uint32_t after,
                                    bool backwards);
/* Returns the first block of a list with at least `size` bytes from the rover on, and moves the
 * rover to it. The first call starts at the front. */
struct found_block free_index_next(struct free_index *index, uint64_t size);
/* Returns the first largest block of a list, or the last one if `backwards` is set. */
struct found_block free_index_largest(struct free_index *index, bool backwards);
/* Returns the smallest block with at least `size` bytes in an order by size, or NO_BLOCK. */
uint32_t free_index_best(const struct free_index *index, uint64_t size);
/* Writes all blocks of a list, in order, to `blocks`. */
void free_index_blocks(struct free_index *index, uint32_t *blocks);

/* Returns a description of the first fault in an index of `listed` blocks, or NULL. */
const char *free_index_check(const struct free_index *index, uint64_t listed);

#endif
