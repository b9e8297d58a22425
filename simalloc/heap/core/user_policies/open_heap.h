/* A heap whose blocks are split, joined and listed from outside: by a policy of one's own.
 *
 * A block is HELD by an object of the program, or free: LISTED, that is in every index that is
 * open, or UNSEARCHABLE, in none. An index is opened when it is first asked for. What the functions
 * demand of their blocks is the caller's to see to. A function that returns false has run out of
 * memory, and the heap is good for nothing but release. */
#ifndef SIMALLOC_OPEN_HEAP_H
#define SIMALLOC_OPEN_HEAP_H

#include "user_policies/free_index.h"

/* Values of `family_data`; `index_slot` is STATE_ALLOCATED in a held block and STATE_FREE in the
 * others. */
enum state { HELD, UNSEARCHABLE, LISTED };

struct open_heap {
    struct heap heap;
    struct free_index *of_order[FREE_ORDERS]; /* NULL: never asked for */
    struct free_index *indexes[FREE_ORDERS];  /* the others, `opened` of them */
    int opened;
    uint64_t *entered; /* when the block of this id entered the lists */
    uint32_t capacity; /* of `entered` */
    uint64_t clock;    /* the latest such time */
    uint64_t unit;     /* the largest power of two in it divides all sizes of blocks */
    uint64_t listed;   /* blocks */
    uint64_t visited;  /* by the searches since open_heap_begin() and before a growth */
    bool grown;        /* since then */
};

bool open_heap_init(struct open_heap *open);
void open_heap_release(struct open_heap *open);
/* Makes sure that a few blocks can be made. */
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

/* The index of an order, which is opened if need be; NULL when memory is exhausted. */
struct free_index *open_heap_index(struct open_heap *open, enum free_order order);
/* Makes the unit as small as a size demands. */
bool open_heap_refine(struct open_heap *open, uint64_t size);
/* The smallest size of a block that holds this many bytes. */
uint64_t open_heap_least(const struct open_heap *open, uint64_t size);

/* Raises the break and returns the new block, unsearchable; NO_BLOCK beyond the limit or when
 * memory is exhausted. */
uint32_t open_heap_extend(struct open_heap *open, uint64_t size);
/* Cuts the low, or the high, `size` bytes off a larger free block and returns them as a new
 * unsearchable block. What is left keeps its id and its place on the lists. */
bool open_heap_split(struct open_heap *open, uint32_t id, uint64_t size, bool high,
                     uint32_t *cut);
/* Joins a neighbour, above or below, to a block; both are unsearchable. The neighbour's id is no
 * more. */
void open_heap_join(struct open_heap *open, uint32_t id, uint32_t neighbour);
bool open_heap_insert(struct open_heap *open, uint32_t id); /* an unsearchable block: lists it */
void open_heap_remove(struct open_heap *open, uint32_t id); /* a listed block is unlisted */
void open_heap_hold(struct open_heap *open, uint32_t id); /* an unsearchable block, for an object */
void open_heap_let_go(struct open_heap *open, uint32_t id); /* a held block: now unsearchable */

#endif
