/* Counts deallocations in a family that does not count them itself.
 *
 * A layer right above a family (docs/policies.md, Parts), present only on request. */
#ifndef SIMALLOC_FREE_COUNTING_H
#define SIMALLOC_FREE_COUNTING_H

#include "families/family.h"

/* Makes the layer's data, if the setting requests the layer. Returns false if memory is exhausted.
 */
bool free_counting_init(struct heap *heap, const struct family *family);
void free_counting_release(struct heap *heap);

/* The layer that counts the frees of a family's; that one itself if they are not to be counted. */
const struct layer *free_counting_over(struct heap *heap, const struct layer *family);

#endif
