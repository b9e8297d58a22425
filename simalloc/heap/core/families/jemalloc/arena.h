/* An arena of jemalloc: slabs of small objects, and large objects. */
#ifndef SIMALLOC_JEMALLOC_ARENA_H
#define SIMALLOC_JEMALLOC_ARENA_H

#include "families/jemalloc/page_allocator.h"

/* Makes current a slab that is not full; false when memory is exhausted. */
bool jemalloc_find_slab(struct jemalloc *state, struct arena *arena, uint32_t class);

/* Takes the lowest region of the slab in use; NO_BLOCK when memory is exhausted. */
uint32_t jemalloc_allocate_small(struct jemalloc *state, struct arena *arena, uint32_t class);

/* Takes a region back. Returns its slab if that is empty and has left the bin, else NO_EXTENT. */
uint32_t jemalloc_put_back(struct jemalloc *state, struct arena *arena, uint32_t block);

/* Frees the pages of an active extent with whatever was in it. */
void jemalloc_free_extent(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Returns a large object; NO_BLOCK when memory is exhausted. */
uint32_t jemalloc_allocate_large(struct jemalloc *state, struct arena *arena, struct random *random,
                                 uint64_t usable, uint64_t alignment);

void jemalloc_free_large(struct jemalloc *state, struct arena *arena, uint32_t block);

/* Makes a large object of another size where it is; says whether that could be. */
bool jemalloc_resize_large(struct jemalloc *state, uint32_t block, uint64_t usable);

ALWAYS_INLINE struct extent *extent_of(struct jemalloc *state, uint32_t block)
{
    return extent_at(state, state->heap.blocks[block].family_data);
}

ALWAYS_INLINE struct arena *arena_of(struct jemalloc *state, uint32_t block)
{
    return state->arenas[extent_of(state, block)->arena];
}

/* Takes the lowest free region of a slab that has one; its block is still marked free. */
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
