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
    BY_AGE,    /* oldest first; read from its end, newest first */
    RING_LIFO, /* a next fit's list: what enters stands before the rover, and the rover on it */
    RING_FIFO, /* the same, but the rover stays */
    BEST_LIFO, /* by size, and among equals newest first */
    BEST_FIFO,
    BEST_ADDRESS,
    FREE_ORDERS
};

struct free_index {
    struct heap shadow; /* of it only `blocks`, `capacity` and `used` mean something: ids from `used`
                           on have never entered */
    enum free_order order;
    bool roving;      /* a list: next fit has been asked for */
    uint32_t rover;   /* where it starts; NO_BLOCK if it is not roving or the list is empty */
    union {
        struct block_list list; /* of the orders before BEST_LIFO */
        struct size_index sizes;
    };
};

/* What a search found, and how many blocks it looked at as if it had walked. */
struct found_block {
    uint32_t block; /* or NO_BLOCK */
    uint64_t visited;
};

/* Opens an empty index of blocks whose sizes are multiples of the largest power of two in `unit`;
 * false when memory is exhausted. */
bool free_index_open(struct free_index *index, enum free_order order, uint64_t unit);
void free_index_close(struct free_index *index);
/* Makes sure that ids below `capacity` can enter. */
bool free_index_reserve(struct free_index *index, uint32_t capacity);

/* `entered` says when the block entered the lists, as a number that rises. */
void free_index_insert(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered);
void free_index_remove(struct free_index *index, uint32_t id);
/* Notes a new address and size of a block that keeps its place. */
void free_index_change(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered);

/* In all searches `size` is a multiple of the unit. */

/* Of a list: the first block of at least `size` bytes behind block `after` (NO_BLOCK: from the
 * front); `backwards` takes the last one of all. */
struct found_block free_index_first(struct free_index *index, uint64_t size, uint32_t after,
                                    bool backwards);
/* Of a list: the first from the rover on, which then stands there; at the first call it stands on
 * the front. */
struct found_block free_index_next(struct free_index *index, uint64_t size);
/* Of a list: the first block that is as large as any. */
struct found_block free_index_largest(struct free_index *index, bool backwards);
/* Of an order by size: the smallest of at least `size` bytes. */
uint32_t free_index_best(const struct free_index *index, uint64_t size);
/* Of a list: writes its blocks in order. */
void free_index_blocks(struct free_index *index, uint32_t *blocks);

/* What is wrong with the index of `listed` blocks, or NULL. */
const char *free_index_check(const struct free_index *index, uint64_t listed);

#endif
