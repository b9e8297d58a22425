/* Common part of the buddy systems. Free blocks are in bins by size, each in a list order. Blocks
 * are halved on demand and merged with their buddies.
 *
 * Each size class has a bin. Halving and merging change the class within its kind, 2**N or 3 *
 * 2**N. */
#ifndef SIMALLOC_BUDDY_H
#define SIMALLOC_BUDDY_H

#include "index/size/bins.h"
#include "layers/define_layer.h"
#include "parts/size_class.h"

/* First member of the state of every buddy system. */
struct buddies {
    struct heap heap;
    struct bin_tables tables;
    uint64_t used[SIZE_CLASSES / 64]; /* bit c % 64 of word c / 64 is set if bin c is not empty */
    uint32_t bins[SIZE_CLASSES];
};

/* Makes a block of a class free. `kind` is a compile-time constant in all functions of this
 * file. */
ALWAYS_INLINE void buddy_insert(struct buddies *buddies, uint32_t id, unsigned class,
                                enum bin_kind kind)
{
    struct block *blocks = buddies->heap.blocks;
    if (bins_insert(buddies->bins, &buddies->tables, class, blocks, id, kind))
        buddies->used[class / 64] |= UINT64_C(1) << class % 64;
    heap_count_free(&buddies->heap, id);
}

ALWAYS_INLINE void buddy_mark_empty(struct buddies *buddies, unsigned class)
{
    buddies->used[class / 64] &= ~(UINT64_C(1) << class % 64);
}

/* Removes a free block from the bin of its class. */
ALWAYS_INLINE void buddy_remove(struct buddies *buddies, uint32_t id, unsigned class,
                                enum bin_kind kind)
{
    struct block *blocks = buddies->heap.blocks;
    if (bins_remove(buddies->bins, &buddies->tables, class, blocks, id, kind))
        buddy_mark_empty(buddies, class);
    buddies->heap.counters.free_blocks--;
}

/* Returns the lowest class from `class` on, of the same kind, that has a free block, or
 * SIZE_CLASSES. */
ALWAYS_INLINE unsigned buddy_find(const struct buddies *buddies, unsigned class)
{
    _Static_assert(THREES == 64, "all classes of a kind must be in one word");
    uint64_t bits = buddies->used[class / 64] & UINT64_MAX << class % 64;
    return LIKELY(bits != 0) ? class / 64 * 64 + (unsigned)__builtin_ctzll(bits) : SIZE_CLASSES;
}

/* Is called with both halves after a block has been halved. */
typedef void buddy_halved_function(struct buddies *buddies, uint32_t low, uint32_t high);

/* Removes the first free block of a class, halves it down to class `wanted` and returns the lowest
 * part. The high halves become free. */
ALWAYS_INLINE uint32_t buddy_use(struct buddies *buddies, unsigned class, unsigned wanted,
                                 buddy_halved_function *halved, enum bin_kind kind)
{
    struct heap *heap = &buddies->heap;
    uint32_t id = buddies->bins[class];
    if (bins_remove_first(buddies->bins, &buddies->tables, class, heap->blocks, kind))
        buddy_mark_empty(buddies, class);
    heap->counters.free_blocks--;
    for (; class > wanted; class--) {
        uint32_t high = heap_cut_high(heap, id, heap->blocks[id].size / 2);
        halved(buddies, id, high);
        heap->counters.splits++;
        buddy_insert(buddies, high, class - 1, kind);
    }
    heap->counters.allocated += heap->blocks[id].size;
    return id;
}

/* Raises the break so that a block for the class exists. Returns false if the growth is refused or,
 * with the heap's failure set, if memory or addresses are exhausted. */
typedef bool buddy_grow_function(struct heap *heap, unsigned class);

/* Allocates a block of a class. A successful search visits 1 block, an unsuccessful search 0. */
ALWAYS_INLINE uint32_t buddy_allocate(struct buddies *buddies, unsigned class,
                                      buddy_grow_function *grow, buddy_halved_function *halved,
                                      enum bin_kind kind)
{
    struct heap *heap = &buddies->heap;
    /* Tested first, because it is frequent and needs no search. */
    if (buddies->bins[class] != NO_BLOCK) {
        count_search(heap, 1);
        return buddy_use(buddies, class, class, halved, kind);
    }
    unsigned found = buddy_find(buddies, class);
    count_search(heap, found < SIZE_CLASSES);
    if (UNLIKELY(found == SIZE_CLASSES)) {
        if (!grow(heap, class))
            return NO_BLOCK;
        found = buddy_find(buddies, class);
    }
    return buddy_use(buddies, found, class, halved, kind);
}

/* Merges a block of a class with its buddy above or below, if the buddy is free and has the same
 * size. Returns whether they were merged. */
ALWAYS_INLINE bool buddy_merge(struct buddies *buddies, uint32_t id, unsigned class, bool above,
                               enum bin_kind kind)
{
    struct heap *heap = &buddies->heap;
    uint32_t buddy = above ? heap->blocks[id].next : heap->blocks[id].previous;
    if (!heap_is_free(heap, buddy) || heap->blocks[buddy].size != heap->blocks[id].size)
        return false;
    buddy_remove(buddies, buddy, class, kind);
    if (above)
        heap_absorb_next(heap, id);
    else
        heap_absorb_previous(heap, id);
    heap->counters.coalescings++;
    return true;
}

/* Initialises a heap whose memory is zero. Returns true. */
ALWAYS_INLINE bool buddy_init(struct buddies *buddies, enum order order)
{
    bin_tables_init(&buddies->tables, order, false);
    return true;
}

ALWAYS_INLINE void buddy_release(struct buddies *buddies)
{
    bin_tables_release(&buddies->tables);
}

/* Reserves memory for a batch of events. Returns false if memory is exhausted. */
ALWAYS_INLINE bool buddy_reserve(struct buddies *buddies)
{
    return heap_reserve(&buddies->heap) &&
           bin_tables_reserve(&buddies->tables, buddies->heap.capacity);
}

/* Changes the kind of bins if a change is due. Returns false if memory is exhausted. */
ALWAYS_INLINE bool buddy_choose_form(struct buddies *buddies)
{
    return bins_choose_form(buddies->bins, SIZE_CLASSES, &buddies->tables, buddies->heap.blocks,
                            buddies->heap.counters.free_blocks);
}

ALWAYS_INLINE bool buddy_change_form(struct buddies *buddies)
{
    return bins_change_form(buddies->bins, SIZE_CLASSES, &buddies->tables, buddies->heap.blocks,
                            buddies->heap.counters.free_blocks);
}

static inline uint32_t buddy_bin_of(const void *context, uint64_t size)
{
    (void)context;
    return exact_class(size);
}

static inline const char *buddy_check(const struct buddies *buddies)
{
    const struct heap *heap = &buddies->heap;
    struct bin_check check = {
        .blocks = heap->blocks,
        .tables = &buddies->tables,
        .bin_of = buddy_bin_of,
    };
    const char *wrong = heap_check(heap);
    for (unsigned class = 0; class < SIZE_CLASSES && wrong == NULL; class++)
        wrong = bins_check(&check, class, buddies->bins[class],
                           buddies->used[class / 64] >> class % 64 & 1);
    if (wrong == NULL && check.met != heap->counters.free_blocks)
        wrong = "the bins do not hold exactly the free blocks";
    return wrong;
}

/* Defines next_layer() and change_form() from these functions of the family:
 *
 *   allocate(heap, size, kind)
 *   enter(buddies, id, kind)   makes a block free and merges it with its buddies
 *   resize(heap, id, size)
 *   reserve(heap)
 *   rounded(heap, size)
 *
 * Each kind of bins has its own replay, compiled for that kind. Other callers of the layer select
 * the kind at run time. */
#define DEFINE_BUDDY_LAYERS                                                         \
    static uint32_t allocate_any(struct heap *heap, uint64_t size)                  \
    {                                                                               \
        return allocate(heap, size, ((struct buddies *)heap)->tables.kind);         \
    }                                                                               \
    static void release_any(struct heap *heap, uint32_t id)                         \
    {                                                                               \
        heap->counters.allocated -= heap->blocks[id].size;                          \
        enter((struct buddies *)heap, id, ((struct buddies *)heap)->tables.kind);   \
    }                                                                               \
    FOR_BIN_KINDS(DEFINE_BUDDY_LAYER)                                               \
    static const struct layer *next_layer(struct heap *heap)                        \
    {                                                                               \
        static const struct layer *const of[] = {FOR_BIN_KINDS(LAYER_OF_BIN_KIND)}; \
        struct buddies *buddies = (struct buddies *)heap;                           \
        return buddy_choose_form(buddies) ? of[buddies->tables.kind] : NULL;        \
    }                                                                               \
    static bool change_form(void *memory)                                           \
    {                                                                               \
        return buddy_change_form(memory);                                           \
    }

#define DEFINE_BUDDY_LAYER(name, kind)                                                    \
    ALWAYS_INLINE uint32_t allocate_##name(struct heap *heap, uint64_t size)              \
    {                                                                                     \
        return allocate(heap, size, kind);                                                \
    }                                                                                     \
    ALWAYS_INLINE void release_##name(struct heap *heap, uint32_t id)                     \
    {                                                                                     \
        heap->counters.allocated -= heap->blocks[id].size;                                \
        enter((struct buddies *)heap, id, kind);                                          \
    }                                                                                     \
    DEFINE_INLINED_LAYER(name, false, allocate_##name, release_##name, reserve,           \
                         .allocate = allocate_any, .release = release_any,                \
                         .resize = resize, .rounded = rounded)

#endif
