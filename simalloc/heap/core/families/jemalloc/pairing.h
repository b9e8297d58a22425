/* Pairing heaps of extents by address, whose inserts are merged late. Their shape is part of
 * jemalloc's rules. */
#ifndef SIMALLOC_JEMALLOC_PAIRING_H
#define SIMALLOC_JEMALLOC_PAIRING_H

#include "families/jemalloc/jemalloc.h"

void jemalloc_pairing_insert(struct extent *at, struct pairing *heap, uint32_t node);

/* The least node of a heap that has some; joins what waits. */
uint32_t jemalloc_pairing_min(struct extent *at, struct pairing *heap);

/* Takes a node out; its children are joined and take its place. */
void jemalloc_pairing_remove(struct extent *at, struct pairing *heap, uint32_t node);

/* Lists the first nodes, breadth first from the root on, for each its child, then its sibling.
 * Returns their number; `found` has room for 2 * `most` + 1. */
unsigned jemalloc_pairing_list(const struct extent *at, const struct pairing *heap, unsigned most,
                               uint32_t *found);

#endif
