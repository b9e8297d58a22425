/* The heap of every mechanism: a range of addresses [0, break) tiled by blocks.
 *
 *   block      a run of addresses that is allocated, free or waste
 *   break      the end of the heap; raised by a growth
 *   neighbour  the block before or after in memory, reached by links, so that coalescing
 *              needs no headers
 *   id         what a block is called: its place in the block table, kept while it exists
 *   edge       block 0, never free, which stands beyond both ends of the heap: the neighbour above
 *              the last block and below the first, so that every block has two
 *
 * Addresses and sizes are in scaled bytes. */
#ifndef SIMALLOC_HEAP_H
#define SIMALLOC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define NO_BLOCK 0 /* the id of no block of the heap, but of the edge */
#define MAX_BREAK (UINT64_C(1) << 62)
#define OUT_OF_MEMORY "no memory is left for the simulated heap" /* a failure */

/* Values of `home` of a block that no index of free blocks holds. */
#define HOME_ALLOCATED UINT32_MAX
#define HOME_WASTE (UINT32_MAX - 1)
#define HOME_LOOSE (UINT32_MAX - 2) /* free, but kept by the mechanism itself */

struct block {
    uint64_t address;
    uint64_t size;
    uint32_t previous; /* the neighbour below: previous->address + previous->size == address */
    uint32_t next;     /* the neighbour above; while the id is unused, the next unused id */
    uint32_t home;     /* the node of the free index that holds it, or a HOME_ value */
    uint32_t mark;     /* the mechanism's own */
};

struct counters {
    uint64_t growths;
    uint64_t splits;
    uint64_t coalescings;
    uint64_t searches;
    uint64_t visited; /* by all searches together */
    uint64_t visited_worst;
    uint64_t free_blocks; /* now */
    uint64_t allocated;   /* scaled bytes of allocated blocks, now */
};

struct heap {
    uint64_t brk;
    struct block *blocks;
    uint32_t capacity;   /* of the block table */
    uint32_t used;       /* ids below this have been in use; those above never */
    uint32_t unused;     /* chain of ids given back */
    const char *failure; /* why the replay cannot go on, or NULL */
    bool news; /* the break has risen, or an event failed: asked for once after each request */
    struct counters counters;
};

/* Events are carried out by the batch, before which memory for all of them is made sure of.
 * An event creates at most so many blocks: a buddy system halves one at most 62 times. */
enum { BATCH = 256, BLOCKS_AN_EVENT = 64, SPARE_BLOCKS = BATCH * BLOCKS_AN_EVENT };

/* So many blocks are thought to stay in the caches by themselves: 512 kB. */
enum { NEAR_BLOCKS = 1 << 14 };

bool heap_grow_table(struct heap *heap);
void heap_release(struct heap *heap);

/* Answers what is wrong with the tiling, or NULL. */
const char *heap_check(const struct heap *heap);

/* Makes an empty heap; false when memory is exhausted. */
ALWAYS_INLINE bool heap_init(struct heap *heap)
{
    *heap = (struct heap){.used = 1, .unused = NO_BLOCK};
    if (!heap_grow_table(heap))
        return false;
    heap->blocks[NO_BLOCK] =
        (struct block){.previous = NO_BLOCK, .next = NO_BLOCK, .home = HOME_ALLOCATED};
    return true;
}

/* Makes sure that a batch finds ids enough; false when memory is exhausted. */
ALWAYS_INLINE bool heap_reserve(struct heap *heap)
{
    return LIKELY(heap->capacity - heap->used >= SPARE_BLOCKS) || heap_grow_table(heap);
}

ALWAYS_INLINE uint32_t heap_new_id(struct heap *heap)
{
    uint32_t id = heap->unused;
    if (id == NO_BLOCK)
        return heap->used++;
    heap->unused = heap->blocks[id].next;
    return id;
}

ALWAYS_INLINE void heap_drop_id(struct heap *heap, uint32_t id)
{
    heap->blocks[id].next = heap->unused;
    heap->unused = id;
}

ALWAYS_INLINE bool is_free(const struct block *block)
{
    return block->home < HOME_WASTE;
}

ALWAYS_INLINE bool heap_is_free(const struct heap *heap, uint32_t id)
{
    return is_free(&heap->blocks[id]);
}

/* The lowest block, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_first(const struct heap *heap)
{
    return heap->blocks[NO_BLOCK].next;
}

/* The block that ends at the break, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_last(const struct heap *heap)
{
    return heap->blocks[NO_BLOCK].previous;
}

/* Cuts the low `size` bytes off block `id` and answers the new block that they are. */
ALWAYS_INLINE uint32_t heap_cut_low(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t low = heap_new_id(heap);
    struct block *block = &heap->blocks[id];
    struct block *cut = &heap->blocks[low];
    cut->address = block->address;
    cut->size = size;
    cut->previous = block->previous;
    cut->next = id;
    cut->home = HOME_ALLOCATED;
    heap->blocks[cut->previous].next = low;
    block->previous = low;
    block->address += size;
    block->size -= size;
    return low;
}

/* Cuts block `id` down to its low `size` bytes and answers the new block that the rest is. */
ALWAYS_INLINE uint32_t heap_cut_high(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t high = heap_new_id(heap);
    struct block *block = &heap->blocks[id];
    struct block *cut = &heap->blocks[high];
    cut->address = block->address + size;
    cut->size = block->size - size;
    cut->previous = id;
    cut->next = block->next;
    cut->home = HOME_ALLOCATED;
    heap->blocks[cut->next].previous = high;
    block->next = high;
    block->size = size;
    return high;
}

/* Joins the neighbour above `id` to it; the neighbour's id is no more. */
ALWAYS_INLINE void heap_join_next(struct heap *heap, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    uint32_t high = block->next;
    block->size += heap->blocks[high].size;
    block->next = heap->blocks[high].next;
    heap->blocks[block->next].previous = id;
    heap_drop_id(heap, high);
}

/* Joins the neighbour below `id` to it; the neighbour's id is no more. */
ALWAYS_INLINE void heap_join_previous(struct heap *heap, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    uint32_t low = block->previous;
    block->address = heap->blocks[low].address;
    block->size += heap->blocks[low].size;
    block->previous = heap->blocks[low].previous;
    heap->blocks[block->previous].next = id;
    heap_drop_id(heap, low);
}

/* Raises the break by `size` and answers the block that the new memory is, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_extend(struct heap *heap, uint64_t size)
{
    if (UNLIKELY(size > MAX_BREAK - heap->brk)) {
        heap->failure = "the heap would exceed 2**62 bytes";
        heap->news = true;
        return NO_BLOCK;
    }
    uint32_t id = heap_new_id(heap);
    uint32_t last = heap_last(heap);
    heap->blocks[id] = (struct block){
        .address = heap->brk,
        .size = size,
        .previous = last,
        .next = NO_BLOCK,
        .home = HOME_ALLOCATED,
    };
    heap->blocks[last].next = id;
    heap->blocks[NO_BLOCK].previous = id;
    heap->brk += size;
    heap->news = true;
    return id;
}

ALWAYS_INLINE void count_search(struct heap *heap, uint64_t visited)
{
    heap->counters.searches++;
    heap->counters.visited += visited;
    if (visited > heap->counters.visited_worst)
        heap->counters.visited_worst = visited;
}

ALWAYS_INLINE uint64_t round_up(uint64_t size, uint64_t unit)
{
    uint64_t rest = size % unit;
    return rest == 0 ? size : size + (unit - rest);
}

#endif
