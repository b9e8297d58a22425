/* Heap whose blocks are split, joined and listed by a user-defined policy.
 *
 * A block is HELD by an object of the program, or free. A free block is LISTED in every open index,
 * or UNSEARCHABLE and in no index. An index is opened at its first use. Callers ensure that a block
 * has the state that a function requires. A function that returns bool returns false if memory is
 * exhausted; the heap can then only be released. */
#ifndef SIMALLOC_OPEN_HEAP_H
#define SIMALLOC_OPEN_HEAP_H

#include "user_policies/free_index.h"

/* Values of `family_data`. `index_slot` is STATE_ALLOCATED in a held block and STATE_FREE in all
 * other blocks. */
enum state { HELD, UNSEARCHABLE, LISTED };

struct open_heap {
    struct heap heap;
    struct free_index *of_order[FREE_ORDERS]; /* by order: index, or NULL before its first use */
    struct free_index *indexes[FREE_ORDERS];  /* first `opened` entries: all open indexes */
    int opened;
    uint64_t *entered; /* by id: time at which the block entered the lists */
    uint32_t capacity; /* number of entries of `entered` */
    uint64_t clock;    /* latest time in `entered` */
    uint64_t unit;     /* number whose largest power-of-two divisor divides all block sizes */
    uint64_t listed;   /* number of listed blocks */
    uint64_t visited;  /* number of blocks visited by searches since open_heap_begin(), without
                        * searches after a growth */
    bool grown;        /* true if the heap has grown since open_heap_begin() */
};

bool open_heap_init(struct open_heap *open);
void open_heap_release(struct open_heap *open);
/* Reserves memory for a few new blocks. */
bool open_heap_reserve(struct open_heap *open);
const char *open_heap_check(const struct open_heap *open);
/* Returns the number of unsearchable blocks, and stores their total size in `bytes`. */
uint64_t open_heap_unsearchable(const struct open_heap *open, uint64_t *bytes);

/* Begins an allocation. All its searches count as one search. */
ALWAYS_INLINE void open_heap_begin(struct open_heap *open)
{
    open->visited = 0;
    open->grown = false;
}

/* Returns the index of an order, after opening it if necessary, or NULL if memory is exhausted. */
struct free_index *open_heap_index(struct open_heap *open, enum free_order order);
/* Reduces the unit so that it fits a size. */
bool open_heap_refine(struct open_heap *open, uint64_t size);
/* Returns the smallest possible block size that is at least `size`. */
uint64_t open_heap_min(const struct open_heap *open, uint64_t size);

/* Raises the break. Returns the new block, which is unsearchable. Returns NO_BLOCK if the limit is
 * exceeded or memory is exhausted. */
uint32_t open_heap_extend(struct open_heap *open, uint64_t size);
/* Cuts the low or the high `size` bytes off a larger free block. The new block `cut` is
 * unsearchable. The remainder keeps its id and its place in the lists. */
bool open_heap_split(struct open_heap *open, uint32_t id, uint64_t size, bool high,
                     uint32_t *cut);
/* Joins a neighbour above or below to a block. Both must be unsearchable. The id of the neighbour
 * becomes invalid. */
void open_heap_join(struct open_heap *open, uint32_t id, uint32_t neighbour);
bool open_heap_insert(struct open_heap *open, uint32_t id); /* lists an unsearchable block */
void open_heap_remove(struct open_heap *open, uint32_t id); /* makes a listed block unsearchable */
void open_heap_hold(struct open_heap *open, uint32_t id); /* gives an unsearchable block to an
                                                           * object */
void open_heap_let_go(struct open_heap *open, uint32_t id); /* makes a held block unsearchable */

#endif
