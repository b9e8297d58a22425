/* Python's own allocator over any family (policy/families/pymalloc.md).
 *
 *   pool    blocks of one size, which may change whenever none is used
 *   arena   a segment of 64 pools
 *
 * Whatever is not used of an arena is cached, so that the family lets it alone. */
#ifndef SIMALLOC_PYMALLOC_H
#define SIMALLOC_PYMALLOC_H

#include "families/family.h"

/* Makes what a heap needs for it, if its setting asks for it; false when memory is exhausted. */
bool pymalloc_init(struct heap *heap);
void pymalloc_release(struct heap *heap);

/* The layer that serves small requests, and leaves others to another one. */
const struct layer *pymalloc_over(struct heap *heap, const struct layer *base);

/* Whether a block is one of a pool. */
bool pymalloc_has(const struct heap *heap, uint32_t id);

/* Tells arena and offset of a block of a pool, in region -1; 0 of another. */
void pymalloc_locate(const struct heap *heap, uint32_t id, struct location *location);

/* The number of cached blocks in arenas. */
uint64_t pymalloc_cached(const struct heap *heap);

#endif
