/* Common part of pools without a list of free blocks. A request walks over all blocks, free and
 * allocated, from the lowest free block to the first one that is large enough. A freed block merges
 * with its free neighbours immediately. A table ends the pool. */
#ifndef SIMALLOC_WALKED_H
#define SIMALLOC_WALKED_H

#include "families/pool/pool.h"

struct walked {
    struct pool pool;
    uint32_t lowest; /* lowest free block, or the table at the end */
};

ALWAYS_INLINE bool walked_is_end(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].index_slot == STATE_TABLE;
}

/* Returns the first free block from `id` on with at least `size` bytes, or the table at the end.
 * Sets `visited` to the number of blocks up to it. */
ALWAYS_INLINE uint32_t walked_from(const struct heap *heap, uint32_t id, uint64_t size,
                                   uint64_t *visited)
{
    for (*visited = 1; !walked_is_end(heap, id); ++*visited) {
        if (heap_is_free(heap, id) && heap->blocks[id].size >= size)
            break;
        id = heap->blocks[id].next;
    }
    return id;
}

/* Returns the first free block with at least `size` bytes as waste, or NO_BLOCK. */
uint32_t walked_take(struct walked *state, uint64_t size);
/* Allocates the low `size` bytes of a block from walked_take(). The remainder becomes free if it
 * has at least `least` bytes. */
void walked_hand_out(struct walked *state, uint32_t id, uint64_t size, uint64_t least);
/* Frees an allocated block and merges it with free neighbours. */
void walked_free(struct heap *heap, uint32_t id);
/* Cuts an allocated block down to its low `size` bytes and frees the remainder. */
void walked_cut(struct walked *state, uint32_t id, uint64_t size);

/* Initialises a pool of `bytes` bytes with one free block from `start` to `end`. Returns false if
 * memory is exhausted. */
bool walked_init(struct walked *state, uint64_t start, uint64_t end, uint64_t bytes);
const char *walked_check(const struct walked *state);
/* Returns the size of the largest free block, or 0. */
uint64_t walked_largest(const struct walked *state);

#endif
