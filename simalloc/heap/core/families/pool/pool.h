/* Common part of the fixed pools: allocators that get their memory once and cannot grow it.
 *
 *   0                                                                     capacity
 *   +-------+-------+------------+--------+-----------------------+-----+
 *   | table | block | free block | block  | free block            | end |
 *   +-------+-------+------------+--------+-----------------------+-----+
 *                                         ^ high-water mark: the memory below it is mapped
 *
 * The memory is the break segment, so that the address of a block is its offset from the start of
 * the memory. Holes separate the regions. A block begins with its header, and the program's bytes
 * follow. Memory of the allocator, and memory that it cannot use, is STATE_TABLE. An unlisted
 * block is in no index and not allocated. It has STATE_WASTE, and exists only during an event.
 *
 * Families of pools read the requested size from heap->request.size. The `size` argument is 1 if
 * the program requests 0 bytes, but pools distinguish 0 and 1.
 *
 * A family has a struct pool as the first member of its state, POOL_PARAMETERS among its
 * parameters, and POOL_FAMILY in its struct. It returns NO_BLOCK to refuse a request
 * (simalloc/policy/pool/pool.md). */
#ifndef SIMALLOC_POOL_H
#define SIMALLOC_POOL_H

#include <string.h>

#include "families/family.h"
#include "parts/coalescing.h"
#include "replay/requests.h"
#include "space/residence.h"

enum { MAX_REGIONS = 8 };

#define NO_FIGURE UINT64_MAX /* value of a figure that the allocator does not report */

struct pool_region {
    uint64_t start, end; /* offsets from the start of the first region */
    uint64_t high;       /* end of the highest block that was ever in use in the region */
};

struct pool {
    struct heap heap;
    uint64_t capacity; /* bytes that the allocator gets */
    uint64_t skew;     /* address of the memory modulo 64 KiB */
    uint32_t region_count;
    struct pool_region regions[MAX_REGIONS];
};

/* Regions from parameters. A region of 0 bytes does not exist. */
struct pool_memory {
    uint64_t start[MAX_REGIONS], size[MAX_REGIONS];
};

/* Parameters of the regions, for a state whose member `memory` is a struct pool_memory. */
#define POOL_REGION_PARAMETERS(state)                                                   \
    POOL_REGION_(state, 0), POOL_REGION_(state, 1), POOL_REGION_(state, 2),             \
        POOL_REGION_(state, 3), POOL_REGION_(state, 4), POOL_REGION_(state, 5),         \
        POOL_REGION_(state, 6), POOL_REGION_(state, 7)
#define POOL_REGION_(state, i)                                                          \
    {"start_" #i, offsetof(state, memory.start[i]), 0, UINT64_C(1) << 50, NULL},        \
    {"size_" #i, offsetof(state, memory.size[i]), 0, UINT64_C(1) << 50, NULL}

/* Parameters of a pool, for a state that begins with a struct pool. */
#define POOL_PARAMETERS                                                                 \
    {"pool_bytes", offsetof(struct pool, capacity), 1, UINT64_C(1) << 50, NULL},           \
    {"skew", offsetof(struct pool, skew), 0, UINT64_C(1) << 16, NULL}

/* Members of struct family that all pools share. */
#define POOL_FAMILY                                                                     \
    .refuses = true, .is_pool = true, .counts_frees = true, .locate = pool_locate

/* Members of struct family for nearly all pools, from the type of the state and functions of fixed
 * names. */
#define POOL_FAMILY_OF(state)                                                           \
    .state_size = sizeof(state), PARAMETERS(parameters), FIGURES(figure_names), .init = init, \
    .next_layer = next_layer, .check = check, .report = report, POOL_FAMILY

/* Adds a region of `size` bytes at offset `start`, above all other regions. Returns its only block,
 * which is waste. Returns NO_BLOCK if the region has 0 bytes or memory is exhausted. For init()
 * functions, which may then make up to three blocks of the region. */
uint32_t pool_add_region(struct pool *pool, uint64_t start, uint64_t size);

/* Turns the low `size` bytes of an unlisted block into memory of the allocator, and marks them as
 * written. Returns the remainder, which is waste, or NO_BLOCK without one. */
uint32_t pool_take_table(struct pool *pool, uint32_t id, uint64_t size);
/* Turns all bytes of an unlisted block beyond the low `size` bytes into memory of the allocator
 * that is unusable. */
void pool_close(struct pool *pool, uint32_t id, uint64_t size);

/* Returns the region that contains an address. */
struct pool_region *pool_region_of(struct pool *pool, uint64_t address);

/* Stores the location of a block: its region, and the offset of its object from the start of the
 * first region. The object begins after the header and the `family_data` bytes of the block. The
 * number is 1 for an object of 0 bytes that the allocator's table represents. */
void pool_locate(const struct heap *heap, uint32_t block, struct location *location);

/* Returns false. For allocators without a realloc, whose programs allocate, copy and free
 * instead. */
bool pool_has_no_realloc(struct heap *heap, uint32_t block, uint64_t size);

/* Frees the object of a realloc to 0 bytes that returns no object. */
ALWAYS_INLINE uint32_t pool_free_instead(struct heap *heap, uint32_t block, free_function *release)
{
    release(heap, block);
    heap->request.is_freed = true;
    return NO_BLOCK;
}

/* Frees the old block of an object that a realloc has moved to `moved`. If the request was refused,
 * `moved` is NO_BLOCK and nothing is freed. Returns `moved`. */
ALWAYS_INLINE uint32_t pool_moved(struct heap *heap, uint32_t block, uint32_t moved,
                                  free_function *release)
{
    if (moved != NO_BLOCK)
        release(heap, block);
    return moved;
}

/* Returns a description of the first fault in the pool, without its indexes, or NULL. `free_blocks`
 * is the number of blocks in the indexes. */
const char *pool_check(const struct pool *pool, uint64_t free_blocks);

/* Returns the largest number in a machine word, which is the largest possible request. */
ALWAYS_INLINE uint64_t word_max(const struct heap *heap)
{
    return heap->setting.word == 4 ? UINT32_MAX : UINT64_MAX;
}

ALWAYS_INLINE uint64_t round_down(uint64_t size, uint64_t unit)
{
    return size - size % unit;
}

/* Allocates an unlisted block. Its `family_data` is the padding between header and object that an
 * alignment requires, at first 0. */
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

/* Cuts an unlisted block down to its low `size` bytes. Returns the remainder, in the same state. */
ALWAYS_INLINE uint32_t pool_split(struct pool *pool, uint32_t id, uint64_t size)
{
    pool->heap.counters.splits++;
    return heap_cut_off(&pool->heap, id, size);
}

#endif
