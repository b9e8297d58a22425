/* Aligned requests over any family that supports them (docs/policies.md, Parts). */
#ifndef SIMALLOC_ALIGNING_H
#define SIMALLOC_ALIGNING_H

#include "layers/layer.h"

/* Allocates a block for the current request, which has an alignment. Returns NO_BLOCK if the heap
 * refuses the memory or fails. */
uint32_t allocate_aligned(struct heap *heap, uint64_t size);

#endif
