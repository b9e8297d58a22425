/* The page allocator of an arena of jemalloc. */
#ifndef SIMALLOC_JEMALLOC_PAGE_ALLOCATOR_H
#define SIMALLOC_JEMALLOC_PAGE_ALLOCATOR_H

#include "families/jemalloc/decay.h"
#include "families/jemalloc/space.h"

#define NO_LIMIT UINT64_MAX

/* Purges all dirty and muzzy pages of an arena. */
void jemalloc_purge_all(struct jemalloc *state, struct arena *arena);

/* Purges the pages that are due by the clock. */
void jemalloc_look(struct jemalloc *state, struct arena *arena);

/* Frees an active extent, which is one block; without a decay time all that is dirty goes. */
void jemalloc_free_pages(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Returns an active extent of `size` bytes at a multiple of `alignment`, which is one block, waste;
 * NO_EXTENT if the capacity does not allow that, or with the heap's failure set if memory or
 * addresses are exhausted. */
uint32_t jemalloc_allocate_pages(struct jemalloc *state, struct arena *arena, uint64_t size,
                                 uint64_t alignment);

/* Adds the `more` bytes behind an active extent to it, if one that is not in use has them. */
bool jemalloc_expand_pages(struct jemalloc *state, struct arena *arena, uint32_t number,
                           uint64_t more);

#endif
