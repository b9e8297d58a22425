/* Quick lists and deferred coalescing: freed blocks that are kept as they are for a while.
 *
 * A layer over any family (docs/policies.md, Parts). The family takes such blocks for allocated
 * ones. */
#ifndef SIMALLOC_FREE_CACHE_H
#define SIMALLOC_FREE_CACHE_H

#include "layers/layer.h"

/* Makes the cache of a heap, if its setting requests one. Returns false if memory is exhausted. */
bool free_cache_init(struct heap *heap, const struct layer *(*next_layer)(struct heap *heap));
void free_cache_release(struct heap *heap);

/* The layer that caches freed blocks and gives them to `base` later. */
const struct layer *free_cache_over(struct heap *heap, const struct layer *base);

/* Returns a description of the first fault in the cached blocks, or NULL. The family itself keeps
 * `kept` of them. */
const char *free_cache_check(const struct heap *heap, uint64_t kept);

#endif
