/* The largest free block of a heap, found without a walk.
 *
 * Blocks are noted when they become free or larger. The index is a binary heap that corrects itself
 * late: an entry of a block that left or shrank is corrected at the top.
 *
 *   of each free block       it is noted, or an entry of its id has at least its size
 *   of each entry            size <= size of the entry at (place - 1) / 2 */
#ifndef SIMALLOC_LARGEST_FREE_H
#define SIMALLOC_LARGEST_FREE_H

#include "space/heap.h"

struct free_entry {
    uint64_t size; /* bytes that the block had when it was noted */
    uint32_t block;
};

struct largest_free {
    struct free_entry *entries;
    uint32_t count;
    uint32_t capacity;
    uint32_t *noted; /* blocks to examine; some of them may be in use, or no longer exist */
    uint32_t noted_count;
    uint32_t noted_capacity;
};

/* Begins to note the free blocks of a heap without blocks; false when memory is exhausted. */
bool largest_free_init(struct heap *heap);
void largest_free_release(struct heap *heap);

/* Returns the scaled bytes of the largest free block, without what the capacity would still allow; 0
 * without a free block, or with the heap's failure set when memory is exhausted. */
uint64_t largest_free_size(struct heap *heap);

#endif
