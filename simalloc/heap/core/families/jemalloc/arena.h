/* An arena of jemalloc: slabs with small objects, and large objects. */
#ifndef SIMALLOC_JEMALLOC_ARENA_H
#define SIMALLOC_JEMALLOC_ARENA_H

#include "families/jemalloc/page_allocator.h"

/* Makes a slab with a free region the current slab. Returns false if memory or the capacity is
 * exhausted. */
bool jemalloc_find_slab(struct jemalloc *state, struct arena *arena, uint32_t class);

/* Allocates the lowest free region of the current slab. Returns NO_BLOCK if memory or the capacity
 * is exhausted. */
uint32_t jemalloc_allocate_small(struct jemalloc *state, struct arena *arena, uint32_t class);

/* Frees a region. Returns its slab if the slab is empty and has left the bin, otherwise
 * NO_EXTENT. */
uint32_t jemalloc_put_back(struct jemalloc *state, struct arena *arena, uint32_t block);

/* Frees the pages of an active extent, whatever blocks it contains. */
void jemalloc_free_extent(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Allocates a large object. Returns NO_BLOCK if memory or the capacity is exhausted. */
uint32_t jemalloc_allocate_large(struct jemalloc *state, struct arena *arena, struct random *random,
                                 uint64_t usable, uint64_t alignment);

void jemalloc_free_large(struct jemalloc *state, struct arena *arena, uint32_t block);

/* Resizes a large object in place. Returns whether that was possible. */
bool jemalloc_resize_large(struct jemalloc *state, uint32_t block, uint64_t usable);

ALWAYS_INLINE struct extent *extent_of(struct jemalloc *state, uint32_t block)
{
    return extent_at(state, state->heap.blocks[block].family_data);
}

ALWAYS_INLINE struct arena *arena_of(struct jemalloc *state, uint32_t block)
{
    return state->arenas[extent_of(state, block)->arena];
}

/* Removes and returns the lowest free region of a slab, which must have one. The region's block is
 * still marked free. */
ALWAYS_INLINE uint32_t take_region(struct extent *slab)
{
    unsigned word = 0;
    while (slab->is_free[word] == 0)
        word++;
    unsigned region = 64 * word + (unsigned)__builtin_ctzll(slab->is_free[word]);
    slab->is_free[word] &= slab->is_free[word] - 1;
    slab->free_regions--;
    return slab->regions[region];
}

#endif
