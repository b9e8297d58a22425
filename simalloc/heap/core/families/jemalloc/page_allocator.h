/* The page allocator of an arena of jemalloc. */
#ifndef SIMALLOC_JEMALLOC_PAGE_ALLOCATOR_H
#define SIMALLOC_JEMALLOC_PAGE_ALLOCATOR_H

#include "families/jemalloc/decay.h"
#include "families/jemalloc/space.h"

#define NO_LIMIT UINT64_MAX

/* Purges all dirty and muzzy pages of an arena. */
void jemalloc_purge_all(struct jemalloc *state, struct arena *arena);

/* Purges the pages in excess of the decay curve at the current time. */
void jemalloc_look(struct jemalloc *state, struct arena *arena);

/* Frees an active extent, which must be one block. Without a dirty decay time, purges all dirty
 * extents. */
void jemalloc_free_pages(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Returns an active extent of `size` bytes at a multiple of `alignment`, which is one block of
 * waste. Returns NO_EXTENT if the capacity does not allow it, or with the heap's failure set if
 * memory or addresses are exhausted. */
uint32_t jemalloc_allocate_pages(struct jemalloc *state, struct arena *arena, uint64_t size,
                                 uint64_t alignment);

/* Extends an active extent by `more` bytes. Returns false if the extent above it is in use or too
 * small, or if memory or the capacity is exhausted. */
bool jemalloc_expand_pages(struct jemalloc *state, struct arena *arena, uint32_t number,
                           uint64_t more);

#endif
