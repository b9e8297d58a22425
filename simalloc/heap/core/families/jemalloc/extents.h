/* The caches of an arena of jemalloc for extents that are not in use. */
#ifndef SIMALLOC_JEMALLOC_EXTENTS_H
#define SIMALLOC_JEMALLOC_EXTENTS_H

#include "families/jemalloc/pairing.h"
#include "families/jemalloc/size_classes.h"

/* Inserts an extent as the newest. */
void jemalloc_cache_insert(struct jemalloc *state, struct extent_cache *cache, uint32_t number);

void jemalloc_cache_remove(struct jemalloc *state, struct extent_cache *cache, uint32_t number);

/* Returns the extent from which to cut `size` bytes at a multiple of `alignment`, or NO_EXTENT. */
uint32_t jemalloc_cache_find(struct jemalloc *state, struct extent_cache *cache, uint64_t size,
                             uint64_t alignment);

/* Returns the first address of an extent that would be a multiple of `alignment` in Linux's
 * placement. */
ALWAYS_INLINE uint64_t aligned_address(const struct jemalloc *state, const struct extent *extent,
                                       uint64_t alignment)
{
    uint64_t shift = state->mappings[extent->mapping].shift;
    return round_up_to_power(extent->address + shift, alignment) - shift;
}

#endif
