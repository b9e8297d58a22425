/* What the buddy systems share: free blocks ordered by size and then by one of the list orders,
 * halved on demand and merged with their buddies.
 *
 * Sizes 2**N are the even size classes and sizes 3 * 2**N the odd ones; halving and merging lead
 * from one class to another of the same kind. */
#ifndef SIMALLOC_BUDDY_H
#define SIMALLOC_BUDDY_H

#include "bin_heap.h"
#include "bin_list.h"
#include "size_class.h"

/* What the state of both begins with. The bins, one for each size class, are lists or heaps, which is
 * known when the code is compiled (`heaps`). */
struct buddies {
    struct heap heap;
    struct bin_set bins;
    uint64_t entered; /* blocks that have entered heaps in order of entry */
};

/* Makes a block of a class free. */
ALWAYS_INLINE void buddy_insert(struct buddies *buddies, uint32_t id, unsigned class, bool heaps)
{
    struct heap *heap = &buddies->heap;
    struct bin_set *bins = &buddies->bins;
    if (!heaps) {
        bin_list_insert(bins, heap->blocks, class, id, bins->order == ORDER_LIFO);
    } else {
        if (bins->keyed)
            bins->keys[id] = ++buddies->entered ^ (bins->order == ORDER_LIFO ? UINT64_MAX : 0);
        bin_heap_insert(bins, heap->blocks, class, id);
    }
    heap->counters.free_blocks++;
}

/* Takes a free block of a class out of its bin. */
ALWAYS_INLINE void buddy_remove(struct buddies *buddies, uint32_t id, unsigned class, bool heaps)
{
    struct heap *heap = &buddies->heap;
    (heaps ? bin_heap_remove : bin_list_remove)(&buddies->bins, heap->blocks, class, id);
    heap->counters.free_blocks--;
}

/* The lowest class that has a free block, of those of its kind from `class` up; SIZE_CLASSES if
 * none has. */
ALWAYS_INLINE unsigned buddy_find(const struct buddies *buddies, unsigned class)
{
    _Static_assert(SIZE_CLASSES <= 128, "the classes take two words");
    const uint64_t kind = UINT64_C(0x5555555555555555) << class % 2;
    unsigned word = class / 64;
    uint64_t bits = buddies->bins.words[word] & kind & UINT64_MAX << class % 64;
    if (bits == 0 && word == 0)
        bits = buddies->bins.words[word = 1] & kind;
    return LIKELY(bits != 0) ? 64 * word + (unsigned)__builtin_ctzll(bits) : SIZE_CLASSES;
}

/* Takes the first free block of a class and halves it until it is of class `wanted`; the high halves
 * are free then. */
ALWAYS_INLINE uint32_t buddy_use(struct buddies *buddies, unsigned class, unsigned wanted,
                                 bool heaps)
{
    struct heap *heap = &buddies->heap;
    uint32_t id = buddies->bins.first[class];
    buddy_remove(buddies, id, class, heaps);
    for (; class > wanted; class -= 2) {
        uint32_t high = heap_cut_high(heap, id, heap->blocks[id].size / 2);
        if (heaps)
            heap->blocks[high].mark = heap->blocks[id].mark; /* a list has its links there */
        heap->counters.splits++;
        buddy_insert(buddies, high, class - 2, heaps);
    }
    heap->counters.allocated += heap->blocks[id].size;
    return id;
}

/* Raises the break so that there is a block for the class; false, with the heap's failure set, if
 * that cannot be done. */
typedef bool buddy_grow_function(struct heap *heap, unsigned class);

/* Allocates a block of a class. Finding one counts as one look, finding none as none. */
ALWAYS_INLINE uint32_t buddy_allocate(struct buddies *buddies, unsigned class,
                                      buddy_grow_function *grow, bool heaps)
{
    struct heap *heap = &buddies->heap;
    unsigned found = buddy_find(buddies, class);
    count_search(heap, found < SIZE_CLASSES);
    if (UNLIKELY(found == SIZE_CLASSES)) {
        if (!grow(heap, class))
            return NO_BLOCK;
        found = buddy_find(buddies, class);
    }
    return buddy_use(buddies, found, class, heaps);
}

/* Joins a block of a class with its buddy, above or below it, if that is free and whole. */
ALWAYS_INLINE bool buddy_merge(struct buddies *buddies, uint32_t id, unsigned class, bool above,
                               bool heaps)
{
    struct heap *heap = &buddies->heap;
    uint32_t buddy = above ? heap->blocks[id].next : heap->blocks[id].previous;
    if (!heap_is_free(heap, buddy) || heap->blocks[buddy].size != heap->blocks[id].size)
        return false;
    buddy_remove(buddies, buddy, class, heaps);
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.coalescings++;
    return true;
}

/* Makes an empty heap of memory that is zero; false: no memory. */
ALWAYS_INLINE bool buddy_init(struct buddies *buddies, enum order order, bool heaps)
{
    bin_set_init(&buddies->bins, order, heaps, heaps && order != ORDER_ADDRESS);
    return heap_init(&buddies->heap);
}

ALWAYS_INLINE void buddy_release(struct buddies *buddies)
{
    bin_set_release(&buddies->bins);
    heap_release(&buddies->heap);
}

/* Makes sure that a batch of events finds memory enough; false when it is exhausted. */
ALWAYS_INLINE bool buddy_reserve(struct buddies *buddies)
{
    return heap_reserve(&buddies->heap) &&
           bin_set_reserve(&buddies->bins, buddies->heap.capacity);
}

static inline uint32_t buddy_bin_of(const void *context, uint64_t size)
{
    (void)context;
    return exact_class(size);
}

static inline const char *buddy_check(const struct buddies *buddies)
{
    const struct heap *heap = &buddies->heap;
    const char *wrong = heap_check(heap);
    return wrong != NULL ? wrong
                         : bin_set_check(&buddies->bins, heap->blocks, buddy_bin_of, NULL,
                                         heap->counters.free_blocks);
}

#endif
