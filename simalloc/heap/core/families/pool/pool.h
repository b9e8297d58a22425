/* The common part of the fixed pools: memory that is handed over once and cannot grow.
 *
 *   0                                                                     capacity
 *   +-------+-------+------------+--------+-----------------------+-----+
 *   | table | block | free block | block  | free block            | end |
 *   +-------+-------+------------+--------+-----------------------+-----+
 *                                         ^ high-water mark: the memory below it is mapped
 *
 * The memory is the break segment, so a block's address is its offset from the start of the memory;
 * holes separate the regions. A block begins with its header, and the program's bytes follow. The
 * allocator's own memory, and memory that it cannot use, is STATE_TABLE. A block that is in no index
 * and not allocated is STATE_WASTE, only within an event.
 *
 * The program's request is heap->request.size. The size argument of a request is 1 where the program
 * requests 0 bytes, and these allocators distinguish the two.
 *
 * A family begins its state with a struct pool, has POOL_PARAMETERS among its parameters and
 * POOL_FAMILY in its struct, and refuses a request by NO_BLOCK
 * (simalloc/policy/pool/pool.md). */
#ifndef SIMALLOC_POOL_H
#define SIMALLOC_POOL_H

#include <string.h>

#include "families/family.h"
#include "parts/coalescing.h"
#include "replay/requests.h"
#include "space/residence.h"

enum { MAX_REGIONS = 8 };

#define NO_FIGURE UINT64_MAX /* the figure of an allocator that does not report it */

struct pool_region {
    uint64_t start, end; /* in bytes from where the first one's memory begins */
    uint64_t high;       /* the end of the highest block that was ever in use in it */
};

struct pool {
    struct heap heap;
    uint64_t capacity; /* bytes that are handed over */
    uint64_t skew;     /* the memory's address modulo 64 KiB */
    uint32_t region_count;
    struct pool_region regions[MAX_REGIONS];
};

/* The regions given by parameters; a region of 0 bytes does not exist. */
struct pool_memory {
    uint64_t start[MAX_REGIONS], size[MAX_REGIONS];
};

/* Of a state whose `memory` is a struct pool_memory. */
#define POOL_REGION_PARAMETERS(state)                                                   \
    POOL_REGION_(state, 0), POOL_REGION_(state, 1), POOL_REGION_(state, 2),             \
        POOL_REGION_(state, 3), POOL_REGION_(state, 4), POOL_REGION_(state, 5),         \
        POOL_REGION_(state, 6), POOL_REGION_(state, 7)
#define POOL_REGION_(state, i)                                                          \
    {"start_" #i, offsetof(state, memory.start[i]), 0, UINT64_C(1) << 50, NULL},        \
    {"size_" #i, offsetof(state, memory.size[i]), 0, UINT64_C(1) << 50, NULL}

/* Of a state that begins with a struct pool, as a family's does. */
#define POOL_PARAMETERS                                                                 \
    {"pool_bytes", offsetof(struct pool, capacity), 1, UINT64_C(1) << 50, NULL},           \
    {"skew", offsetof(struct pool, skew), 0, UINT64_C(1) << 16, NULL}

/* The entries of struct family for all of them. */
#define POOL_FAMILY                                                                     \
    .refuses = true, .is_pool = true, .counts_frees = true, .locate = pool_locate

/* The entries of nearly every pool family, by the names of its state and its functions. */
#define POOL_FAMILY_OF(state)                                                           \
    .state_size = sizeof(state), PARAMETERS(parameters), FIGURES(figure_names), .init = init, \
    .next_layer = next_layer, .check = check, .report = report, POOL_FAMILY

/* Adds `size` bytes of memory at an offset behind all other memory, and returns its one block,
 * waste. Returns NO_BLOCK if it has 0 bytes or memory is exhausted. Only for an init(), which may
 * make up to three blocks of it. */
uint32_t pool_add_region(struct pool *pool, uint64_t start, uint64_t size);

/* Makes the low `size` bytes of a block in no index the allocator's own, written memory. Returns
 * the remainder, waste, or NO_BLOCK. */
uint32_t pool_take_table(struct pool *pool, uint32_t id, uint64_t size);
/* Makes all but the low `size` bytes of a block in no index unusable: they belong to the
 * allocator. */
void pool_close(struct pool *pool, uint32_t id, uint64_t size);

/* The region that an address lies in. */
struct pool_region *pool_region_of(struct pool *pool, uint64_t address);

/* Gives the region of a block, and how far behind the start of the first region its object begins:
 * behind the header and the block's family_data. The number is 1 for an object of no bytes that the
 * allocator's table stands for. */
void pool_locate(const struct heap *heap, uint32_t block, struct location *location);

/* The resize of an allocator without a realloc: a program allocates, copies and frees. */
bool pool_has_no_realloc(struct heap *heap, uint32_t block, uint64_t size);

/* A realloc to 0 bytes that frees the object and returns nothing. */
ALWAYS_INLINE uint32_t pool_free_instead(struct heap *heap, uint32_t block, free_function *release)
{
    release(heap, block);
    heap->request.is_freed = true;
    return NO_BLOCK;
}

/* Frees the block of an object that a realloc moved to `moved`. Returns `moved`, which is NO_BLOCK,
 * with nothing freed, if the request was refused. */
ALWAYS_INLINE uint32_t pool_moved(struct heap *heap, uint32_t block, uint32_t moved,
                                  free_function *release)
{
    if (moved != NO_BLOCK)
        release(heap, block);
    return moved;
}

/* Returns a description of the first fault in the pool besides its indexes, or NULL; `free_blocks`
 * are in these. */
const char *pool_check(const struct pool *pool, uint64_t free_blocks);

/* The largest number in a machine word: no program asks for more. */
ALWAYS_INLINE uint64_t word_max(const struct heap *heap)
{
    return heap->setting.word == 4 ? UINT32_MAX : UINT64_MAX;
}

ALWAYS_INLINE uint64_t round_down(uint64_t size, uint64_t unit)
{
    return size - size % unit;
}

/* A block in no index comes into use. Its family_data is the bytes, here 0, between its header and
 * the object, where an alignment puts it further up. */
ALWAYS_INLINE void pool_hand_out(struct pool *pool, uint32_t id)
{
    struct heap *heap = &pool->heap;
    const struct block *block = &heap->blocks[id];
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = 0;
    heap_touch(heap, block->address, heap->setting.payload);
    struct pool_region *region =
        pool->region_count == 1 ? pool->regions : pool_region_of(pool, block->address);
    uint64_t end = block->address + block->size;
    if (end > region->high) {
        heap->mapped += end - region->high;
        heap->untouched -= end - region->high;
        region->high = end;
        heap->heap_changed = true;
    }
}

/* Cuts a block that is in no index down to its low `size` bytes and returns the rest, which is as
 * the block is. */
ALWAYS_INLINE uint32_t pool_split(struct pool *pool, uint32_t id, uint64_t size)
{
    pool->heap.counters.splits++;
    return heap_cut_off(&pool->heap, id, size);
}

#endif
