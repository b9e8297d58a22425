/* Python's own allocator over any family (policy/families/pymalloc.md).
 *
 *   pool    blocks of one size, which may change whenever none is used
 *   arena   a segment of 64 pools
 *
 * Unused memory of an arena is cached, so that the family does not reuse it. */
#ifndef SIMALLOC_PYMALLOC_H
#define SIMALLOC_PYMALLOC_H

#include "families/family.h"

enum { PYMALLOC_PARAMETERS = 5 };

/* Its parameters, in struct pymalloc. A description that has them asks for this layer. */
extern const struct parameter pymalloc_parameters[PYMALLOC_PARAMETERS];

/* Puts the layer over a heap, before its parameters are filled in; false when memory is exhausted. */
bool pymalloc_make(struct heap *heap);
void pymalloc_release(struct heap *heap);

/* The layer that serves small requests, and leaves others to another one. */
const struct layer *pymalloc_over(struct heap *heap, const struct layer *base);

/* Returns whether a block belongs to a pool. */
bool pymalloc_has(const struct heap *heap, uint32_t id);

/* Tells arena and offset of a block of a pool, in region -1; 0 of another. */
void pymalloc_locate(const struct heap *heap, uint32_t id, struct location *location);

/* Returns a description of the first fault in the pools and arenas, or NULL. */
const char *pymalloc_check(const struct heap *heap);

/* The number of cached blocks in arenas. */
uint64_t pymalloc_cached(const struct heap *heap);

#endif
