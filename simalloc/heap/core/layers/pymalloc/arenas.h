/* Pools and arenas of Python's own allocator. */
#ifndef SIMALLOC_PYMALLOC_ARENAS_H
#define SIMALLOC_PYMALLOC_ARENAS_H

#include "layers/pymalloc/pymalloc.h"
#include "parts/overhead.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    POOLS = 64, /* number of pools in an arena; one fewer if the arena is not aligned to pools */
    GRAIN = 16,
    LARGEST = 512,
    POOL_HEADER = 48,
    SMALL_POOL = 4096,
    ARENA_ALIGNMENT = 16384,
    NO_POOL = 0,
    NO_ARENA = UINT32_MAX
};

/* A pool of blocks of equal size. Each block is either used, or in the list of `freed`, or in the
 * range from `fresh` to `last`. */
struct pool {
    uint32_t lowest;     /* lowest of its blocks */
    uint32_t size;       /* bytes of a block, or 0 before the first use */
    uint32_t used;       /* number of allocated blocks */
    uint32_t freed;      /* block that was freed last, or NO_BLOCK */
    uint32_t fresh;      /* lowest block that was never used since `size` was set, or NO_BLOCK */
    uint32_t last;       /* highest block */
    uint32_t next;       /* next pool of its list, or NO_POOL */
    uint32_t previous;   /* previous pool in the list of a size */
};

/* An arena. While it is live: carved <= total and free_count == total - number of pools with a used
 * block. */
struct arena {
    uint64_t base;
    uint64_t number; /* sequence number among all arenas */
    uint32_t lowest; /* lowest of its blocks */
    uint32_t rest;   /* block that is not carved into pools yet, while such a block is left */
    uint32_t carved; /* number of carved pools */
    uint32_t total;
    uint32_t free_count; /* number of unused pools */
    uint32_t emptied;    /* pool that was emptied last, linked by `next` */
    uint32_t newer;      /* next newer arena with the same number of free pools, or NO_ARENA */
    /* Next older arena with the same number of free pools, or NO_ARENA. After the arena was freed,
     * the next unused number, or NO_ARENA. */
    uint32_t older;
    bool is_live;        /* false after the arena was freed */
    struct pool pools[POOLS]; /* pool i has the number POOLS * arena number + i + 1 */
};

/* Pool of a block, and its entry in the list of freed blocks. */
struct owned {
    uint32_t pool;  /* NO_POOL if the block belongs to no pool */
    uint32_t older; /* block that was freed before it */
};

/* A node of the tree of arenas. Its addresses have the same value `number` above the lowest `bits`
 * bits. */
struct node {
    uint64_t bits;
    uint64_t number;
    uint32_t block;
};

struct pymalloc {
    uint64_t pool_size;
    uint64_t keeps_last;    /* nonzero if the last arena is kept when all its pools are free */
    uint64_t discard_pools; /* nonzero if the pages of empty pools are returned to the system */
    uint64_t arena_skew;    /* bytes from a multiple of 16 KiB to the start of each arena */
    uint64_t least;         /* bytes of the smallest request that pools serve */
    const struct layer *base;
    struct arena *arenas;
    uint32_t arena_count;
    uint32_t arena_capacity;
    uint32_t arena_unused;
    uint64_t live; /* number of live arenas */
    uint64_t made;
    /* by number of free pools: newest arena with this number, or NO_ARENA */
    uint32_t newest[POOLS + 1];
    uint32_t oldest[POOLS + 1];
    uint32_t used[LARGEST / GRAIN + 1]; /* by block size / GRAIN: first pool that is not full */
    struct owned *owned;                /* by block id */
    uint32_t owned_capacity;
    uint64_t slots; /* number of entries in the table of arenas */
    uint32_t table; /* block of the table of arenas, or NO_BLOCK */
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

/* Joins consecutive blocks with a total of `size` bytes, from `lowest` upwards, to one cached
 * block. */
void pymalloc_join(struct heap *heap, uint32_t lowest, uint64_t size);

/* Takes an unused pool. Returns NO_POOL if the memory for an arena is refused or, with the heap's
 * failure set, if memory or addresses are exhausted. */
uint32_t pymalloc_take_pool(struct heap *heap);

/* Returns an unused pool to its arena, and perhaps the arena to the system. */
void pymalloc_give_pool(struct heap *heap, uint32_t pool);

#endif
