/* What the buddy systems share: free blocks ordered by size and then by one of the list orders,
 * halved on demand and merged with their buddies.
 *
 * Sizes 2**N are the even size classes and sizes 3 * 2**N the odd ones; halving and merging lead
 * from one class to another of the same kind. */
#ifndef SIMALLOC_BUDDY_H
#define SIMALLOC_BUDDY_H

#include "bin_set.h"
#include "mechanism.h"
#include "size_class.h"

struct buddy_blocks {
    struct bin_set bins; /* one for each size class */
    enum order order;
    uint64_t entered; /* blocks that have entered */
};

ALWAYS_INLINE void buddy_insert(struct buddy_blocks *blocks, uint32_t id)
{
    struct heap *heap = blocks->bins.heap;
    const struct block *block = &heap->blocks[id];
    uint64_t time = ++blocks->entered;
    uint64_t key = blocks->order == ORDER_ADDRESS ? block->address
                   : blocks->order == ORDER_FIFO  ? time
                                                  : ~time;
    bin_set_insert(&blocks->bins, exact_class(block->size), id, key);
    heap->counters.free_blocks++;
}

ALWAYS_INLINE void buddy_remove(struct buddy_blocks *blocks, uint32_t id)
{
    struct heap *heap = blocks->bins.heap;
    bin_set_remove(&blocks->bins, exact_class(heap->blocks[id].size), id);
    heap->counters.free_blocks--;
}

/* The block that serves a class: of the smallest of its kind not below it, the first in order; or
 * NO_BLOCK. */
ALWAYS_INLINE uint32_t buddy_find(const struct buddy_blocks *blocks, unsigned class)
{
    _Static_assert(SIZE_CLASSES <= 128, "the classes take two words");
    const uint64_t kind = UINT64_C(0x5555555555555555) << class % 2;
    uint32_t word = class / 64;
    uint64_t bits = blocks->bins.words[word] & kind & UINT64_MAX << class % 64;
    if (bits == 0 && word == 0)
        bits = blocks->bins.words[word = 1] & kind;
    return LIKELY(bits != 0) ? blocks->bins.first[64 * word + (uint32_t)__builtin_ctzll(bits)]
                             : NO_BLOCK;
}

/* Takes a block and halves it until it has `size` bytes; the high halves enter. */
ALWAYS_INLINE void buddy_use(struct buddy_blocks *blocks, uint32_t id, uint64_t size)
{
    struct heap *heap = blocks->bins.heap;
    buddy_remove(blocks, id);
    while (heap->blocks[id].size > size) {
        uint32_t high = heap_cut_high(heap, id, heap->blocks[id].size / 2);
        heap->blocks[high].mark = heap->blocks[id].mark;
        heap->counters.splits++;
        buddy_insert(blocks, high);
    }
    heap->counters.allocated += size;
}

/* Raises the break so that there is a block for the class; false, with the heap's failure set, if
 * that cannot be done. */
typedef bool buddy_grow_function(struct heap *heap, unsigned class);

/* Allocates a block of a class. Finding one counts as one look, finding none as none. */
ALWAYS_INLINE uint32_t buddy_allocate(struct buddy_blocks *blocks, unsigned class,
                                      buddy_grow_function *grow)
{
    struct heap *heap = blocks->bins.heap;
    uint32_t id = buddy_find(blocks, class);
    count_search(heap, id != NO_BLOCK);
    if (UNLIKELY(id == NO_BLOCK)) {
        if (!grow(heap, class))
            return NO_BLOCK;
        id = buddy_find(blocks, class);
    }
    buddy_use(blocks, id, class_size(class));
    return id;
}

/* Joins a block with its buddy, above or below it, if that is free and whole. */
ALWAYS_INLINE bool buddy_merge(struct buddy_blocks *blocks, uint32_t id, bool above)
{
    struct heap *heap = blocks->bins.heap;
    uint32_t buddy = above ? heap->blocks[id].next : heap->blocks[id].previous;
    if (!heap_is_free(heap, buddy) || heap->blocks[buddy].size != heap->blocks[id].size)
        return false;
    buddy_remove(blocks, buddy);
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.coalescings++;
    return true;
}

ALWAYS_INLINE void buddy_init(struct buddy_blocks *blocks, struct heap *heap, uint64_t order)
{
    blocks->order = (enum order)order;
    blocks->entered = 0;
    bin_set_init(&blocks->bins, heap);
}

static inline uint32_t buddy_bin_of(const void *context, uint64_t size)
{
    (void)context;
    return exact_class(size);
}

static inline const char *buddy_check(const struct buddy_blocks *blocks, uint64_t free_blocks)
{
    return bin_set_check(&blocks->bins, buddy_bin_of, NULL, free_blocks);
}

#endif
