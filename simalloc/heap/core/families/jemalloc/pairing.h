/* Pairing heaps of extents by address, which delay the merges after inserts. The shape of a heap is
 * part of jemalloc's rules. */
#ifndef SIMALLOC_JEMALLOC_PAIRING_H
#define SIMALLOC_JEMALLOC_PAIRING_H

#include "families/jemalloc/jemalloc.h"

void jemalloc_pairing_insert(struct extent *at, struct pairing *heap, uint32_t node);

/* Returns the lowest node of a heap that is not empty. Joins all waiting siblings. */
uint32_t jemalloc_pairing_min(struct extent *at, struct pairing *heap);

/* Removes a node. Its joined children take its place. */
void jemalloc_pairing_remove(struct extent *at, struct pairing *heap, uint32_t node);

/* Lists up to `most` nodes in breadth-first order from the root; the child of each node precedes
 * its sibling. Returns their number. `found` must have 2 * `most` + 1 entries. */
unsigned jemalloc_pairing_list(const struct extent *at, const struct pairing *heap, unsigned most,
                               uint32_t *found);

#endif
