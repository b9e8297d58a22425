/* Index of the largest free block of a heap, which avoids a walk over all blocks.
 *
 * Each block that becomes free or larger is noted. The index is a binary heap with lazy correction:
 * the entry of a block that was allocated or has shrunk is corrected when it reaches the top.
 *
 *   for each free block      it is noted, or an entry of its id has at least its size
 *   for each entry           size <= size of the entry at (place - 1) / 2 */
#ifndef SIMALLOC_LARGEST_FREE_H
#define SIMALLOC_LARGEST_FREE_H

#include "space/heap.h"

struct free_entry {
    uint64_t size; /* size of the block when it was noted */
    uint32_t block;
};

struct largest_free {
    struct free_entry *entries;
    uint32_t count;
    uint32_t capacity;
    uint32_t *noted; /* ids of blocks to examine; an id may be allocated or unused by now */
    uint32_t noted_count;
    uint32_t noted_capacity;
};

/* Starts the index of a heap without blocks. Returns false if memory is exhausted. */
bool largest_free_init(struct heap *heap);
void largest_free_release(struct heap *heap);

/* Returns the size of the largest free block in scaled bytes, or 0 without a free block. Bytes that
 * the capacity still allows are excluded. Returns 0, with the heap's failure set, if memory is
 * exhausted. */
uint64_t largest_free_size(struct heap *heap);

#endif
