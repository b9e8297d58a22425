/* Python's own allocator over any family (policy/families/pymalloc.md).
 *
 *   pool    blocks of one size, which may change while no block is in use
 *   arena   a segment of 64 pools
 *
 * Unused memory of an arena is cached, so that the family does not reuse it. */
#ifndef SIMALLOC_PYMALLOC_H
#define SIMALLOC_PYMALLOC_H

#include "families/family.h"

enum { PYMALLOC_PARAMETERS = 5 };

/* Parameters of the layer, in struct pymalloc. A description with these parameters requests the
 * layer. */
extern const struct parameter pymalloc_parameters[PYMALLOC_PARAMETERS];

/* Creates the layer's state before its parameters are set. Returns false if memory is exhausted. */
bool pymalloc_make(struct heap *heap);
void pymalloc_release(struct heap *heap);

/* Returns the layer that serves small requests and passes all others to `base`. */
const struct layer *pymalloc_over(struct heap *heap, const struct layer *base);

/* Returns whether a block belongs to a pool. */
bool pymalloc_has(const struct heap *heap, uint32_t id);

/* Stores the arena and the offset of a block of a pool, in region -1. Stores zeros for other
 * blocks. */
void pymalloc_locate(const struct heap *heap, uint32_t id, struct location *location);

/* Returns a description of the first fault in the pools and arenas, or NULL. */
const char *pymalloc_check(const struct heap *heap);

/* Returns the number of cached blocks in arenas. */
uint64_t pymalloc_cached(const struct heap *heap);

#endif
