/* Quick lists and deferred coalescing: freed blocks stay uncoalesced for a while.
 *
 * This is a layer over any family (docs/policies.md, Parts). For the family, the cached blocks are
 * allocated. */
#ifndef SIMALLOC_FREE_CACHE_H
#define SIMALLOC_FREE_CACHE_H

#include "layers/layer.h"

/* Creates the cache of a heap, if its setting requests a cache. Returns false if memory is
 * exhausted. */
bool free_cache_init(struct heap *heap, const struct layer *(*next_layer)(struct heap *heap));
void free_cache_release(struct heap *heap);

/* Returns the layer that caches freed blocks and frees them in `base` later. */
const struct layer *free_cache_over(struct heap *heap, const struct layer *base);

/* Returns a description of the first fault in the cached blocks, or NULL. `kept` is the number of
 * cached blocks that the family itself keeps. */
const char *free_cache_check(const struct heap *heap, uint64_t kept);

#endif
