/* The pools and arenas of Python's own allocator. */
#ifndef SIMALLOC_PYMALLOC_ARENAS_H
#define SIMALLOC_PYMALLOC_ARENAS_H

#include "layers/pymalloc/pymalloc.h"
#include "parts/overhead.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    POOLS = 64, /* pools of an arena; one fewer if it starts unaligned to pools */
    GRAIN = 16,
    LARGEST = 512,
    POOL_HEADER = 48,
    SMALL_POOL = 4096,
    ARENA_ALIGNMENT = 16384,
    NO_POOL = 0,
    NO_ARENA = UINT32_MAX
};

/* Blocks of one size: used + those chained from `freed` + those from `fresh` to `last` are all. */
struct pool {
    uint32_t lowest;     /* lowest of its blocks */
    uint32_t size;       /* bytes of a block; 0: the pool was never used */
    uint32_t used;       /* allocated blocks */
    uint32_t freed;      /* the block freed last, or NO_BLOCK */
    uint32_t fresh;      /* the lowest block that was never used since the size was set, or NO_BLOCK */
    uint32_t last;       /* the highest block */
    uint32_t next;       /* next pool of its list, or NO_POOL */
    uint32_t previous;   /* previous pool in the list of a size */
};

/* While it is live, carved <= total, and free_count == total - pools with a used block. */
struct arena {
    uint64_t base;
    uint64_t number; /* among all that ever were */
    uint32_t lowest; /* lowest of its blocks */
    uint32_t rest;   /* the block that is not carved into pools yet, if one is left */
    uint32_t carved; /* pools */
    uint32_t total;
    uint32_t free_count; /* pools that are not used */
    uint32_t emptied;    /* the pool emptied last, chained by `next` */
    uint32_t newer;      /* next newer arena with as many free pools, or NO_ARENA */
    uint32_t older;      /* next older one, or NO_ARENA; next unused if freed */
    bool is_live;        /* the arena has not been freed */
    struct pool pools[POOLS]; /* number POOLS * the arena's + place + 1 */
};

/* The pool of a block, and its entry there. */
struct owned {
    uint32_t pool;  /* NO_POOL: the block belongs to no pool */
    uint32_t older; /* the block freed before it */
};

/* A node of the tree of arenas. */
struct node {
    uint64_t bits;
    uint64_t number;
    uint32_t block;
};

struct pymalloc {
    uint64_t pool_size;     /* bytes */
    uint64_t keeps_last;    /* nonzero if the last arena stays when it is wholly free */
    uint64_t discard_pools; /* nonzero if the pages of empty pools go back */
    uint64_t arena_skew;    /* bytes from a multiple of 16 KiB to the beginning of each arena */
    uint64_t least;         /* bytes of the least request that pools serve */
    const struct layer *base;
    struct arena *arenas;
    uint32_t arena_count;
    uint32_t arena_capacity;
    uint32_t arena_unused;
    uint64_t live; /* arenas */
    uint64_t made;
    uint32_t newest[POOLS + 1]; /* arena, by its number of free pools; or NO_ARENA */
    uint32_t oldest[POOLS + 1];
    uint32_t used[LARGEST / GRAIN + 1]; /* by block size / GRAIN: the first pool with room */
    struct owned *owned;                /* by block id */
    uint32_t owned_capacity;
    uint64_t slots; /* number of slots in the table of arenas */
    uint32_t table; /* a block of the family's; or NO_BLOCK */
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
};

static inline uint64_t pool_size(const struct heap *heap)
{
    return heap->pymalloc->pool_size;
}

static inline uint64_t arena_size(const struct heap *heap)
{
    return POOLS * heap->pymalloc->pool_size;
}

static inline struct arena *arena_of(const struct pymalloc *python, uint32_t pool)
{
    return &python->arenas[(pool - 1) / POOLS];
}

static inline struct pool *pool_of(const struct pymalloc *python, uint32_t pool)
{
    return &arena_of(python, pool)->pools[(pool - 1) % POOLS];
}

/* Joins neighbours with a total of `size` bytes, starting at the block `lowest`, to one cached
 * block. */
void pymalloc_join(struct heap *heap, uint32_t lowest, uint64_t size);

/* Takes a pool that is not used; NO_POOL, with the heap's failure set, if memory is exhausted. */
uint32_t pymalloc_take_pool(struct heap *heap);

/* Gives a pool that is not used back, and its arena perhaps to the system. */
void pymalloc_give_pool(struct heap *heap, uint32_t pool);

#endif
