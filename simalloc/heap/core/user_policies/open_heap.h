/* A heap whose blocks are split, joined and listed from outside, by a user-defined policy.
 *
 * A block is HELD by an object of the program, or free: LISTED in every open index, or UNSEARCHABLE
 * in none. An index is opened at its first use. Callers ensure the conditions that functions
 * require of their blocks. A function returns false when memory is exhausted; the heap can then
 * only be released. */
#ifndef SIMALLOC_OPEN_HEAP_H
#define SIMALLOC_OPEN_HEAP_H

#include "user_policies/free_index.h"

/* Values of `family_data`; `index_slot` is STATE_ALLOCATED in a held block and STATE_FREE in the
 * others. */
enum state { HELD, UNSEARCHABLE, LISTED };

struct open_heap {
    struct heap heap;
    struct free_index *of_order[FREE_ORDERS]; /* by order, or NULL before the first use */
    struct free_index *indexes[FREE_ORDERS];  /* the open indexes, `opened` in number */
    int opened;
    uint64_t *entered; /* by id: time at which the block entered the lists */
    uint32_t capacity; /* entries of `entered` */
    uint64_t clock;    /* latest time in `entered` */
    uint64_t unit;     /* the largest power of two that divides it also divides all block sizes */
    uint64_t listed;   /* number of listed blocks */
    uint64_t visited;  /* blocks visited by the searches since open_heap_begin() and before a
                        * growth */
    bool grown;        /* true if the heap has grown since open_heap_begin() */
};

bool open_heap_init(struct open_heap *open);
void open_heap_release(struct open_heap *open);
/* Ensures that a few blocks can be made. */
bool open_heap_reserve(struct open_heap *open);
const char *open_heap_check(const struct open_heap *open);
/* Counts the unsearchable blocks and their bytes. */
uint64_t open_heap_unsearchable(const struct open_heap *open, uint64_t *bytes);

/* Begins an allocation, whose searches are counted as one. */
ALWAYS_INLINE void open_heap_begin(struct open_heap *open)
{
    open->visited = 0;
    open->grown = false;
}

/* Returns the index of an order, opened if necessary, or NULL when memory is exhausted. */
struct free_index *open_heap_index(struct open_heap *open, enum free_order order);
/* Makes the unit small enough for a size. */
bool open_heap_refine(struct open_heap *open, uint64_t size);
/* Returns the smallest size of a block that holds `size` bytes. */
uint64_t open_heap_min(const struct open_heap *open, uint64_t size);

/* Raises the break and returns the new block, unsearchable, or NO_BLOCK beyond the limit or when
 * memory is exhausted. */
uint32_t open_heap_extend(struct open_heap *open, uint64_t size);
/* Cuts the low, or the high, `size` bytes off a larger free block, as a new unsearchable block. The
 * remainder keeps its id and its place on the lists. */
bool open_heap_split(struct open_heap *open, uint32_t id, uint64_t size, bool high,
                     uint32_t *cut);
/* Joins a neighbour, above or below, to a block; both are unsearchable. The neighbour's id becomes
 * invalid. */
void open_heap_join(struct open_heap *open, uint32_t id, uint32_t neighbour);
bool open_heap_insert(struct open_heap *open, uint32_t id); /* lists an unsearchable block */
void open_heap_remove(struct open_heap *open, uint32_t id); /* makes a listed block unsearchable */
void open_heap_hold(struct open_heap *open, uint32_t id); /* gives an unsearchable block to an
                                                           * object */
void open_heap_let_go(struct open_heap *open, uint32_t id); /* makes a held block unsearchable */

#endif
