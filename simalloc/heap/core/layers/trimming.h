/* Trimming: the break is lowered when the free block that ends there is large.
 *
 * A layer over any family whose blocks are split at any byte (docs/policies.md, Parts). */
#ifndef SIMALLOC_TRIMMING_H
#define SIMALLOC_TRIMMING_H

#include "layers/layer.h"

/* Part of a family's `struct splitting` (parts/coalescing.h). */
struct trimming {
    uint64_t trim;      /* the least size of the last block that is trimmed; 0: none is */
    uint64_t trim_keep; /* bytes that remain of it */
    uint64_t unit;      /* the break is lowered by multiples of it */
    const struct layer *base;   /* the layer that frees go to */
    const struct layer *family; /* the family's layer, `base` or below it */
};

/* The layer that trims after what another one does, which may stand over the family's. */
const struct layer *trimming_over(struct heap *heap, const struct layer *base,
                                  const struct layer *family);

#endif
