/* Serving the alignments that requests ask for, over any family that can (docs/policies.md, Parts). */
#ifndef SIMALLOC_ALIGNING_H
#define SIMALLOC_ALIGNING_H

#include "layers/layer.h"

/* Allocates a block for the request under way, which asks for an alignment. NO_BLOCK, with the
 * heap's failure set, if that cannot be. */
uint32_t allocate_aligned(struct heap *heap, uint64_t size);

#endif
