/* Count of deallocations in a family that does not count them itself.
 *
 * This is a layer directly above a family (docs/policies.md, Parts), present only on request. */
#ifndef SIMALLOC_FREE_COUNTING_H
#define SIMALLOC_FREE_COUNTING_H

#include "families/family.h"

/* Creates the state of the layer, if the setting requests the layer. Returns false if memory is
 * exhausted. */
bool free_counting_init(struct heap *heap, const struct family *family);
void free_counting_release(struct heap *heap);

/* Returns the layer that counts the frees of the layer `family`, or `family` if frees are not
 * counted. */
const struct layer *free_counting_over(struct heap *heap, const struct layer *family);

#endif
