/* Trimming: the break is lowered if the free block at the break is large.
 *
 * This is a layer over any family whose blocks are split at any byte (docs/policies.md, Parts). */
#ifndef SIMALLOC_TRIMMING_H
#define SIMALLOC_TRIMMING_H

#include "layers/layer.h"

/* Part of a family's `struct splitting` (parts/coalescing.h). */
struct trimming {
    uint64_t trim;      /* minimum size of a last block that is trimmed, or 0 without trimming */
    uint64_t trim_keep; /* bytes that remain of the block */
    uint64_t unit;      /* bytes; the break is lowered by a multiple of this size */
    const struct layer *base;   /* layer that executes the frees */
    const struct layer *family; /* layer of the family: `base` or a layer below it */
};

/* Returns the layer that trims after each free in `base`. */
const struct layer *trimming_over(struct heap *heap, const struct layer *base,
                                  const struct layer *family);

#endif
