/* Counting deallocations in a family that does not do so by itself.
 *
 * A layer right over a family (docs/policies.md, Parts), which is there only if it is asked for. */
#ifndef SIMALLOC_FREE_COUNTING_H
#define SIMALLOC_FREE_COUNTING_H

#include "families/family.h"

/* Makes what a heap needs for it, if its setting asks for it; false when memory is exhausted. */
bool free_counting_init(struct heap *heap, const struct family *family);
void free_counting_release(struct heap *heap);

/* The layer that counts the frees of a family's; that one itself if they are not to be counted. */
const struct layer *free_counting_over(struct heap *heap, const struct layer *family);

#endif
