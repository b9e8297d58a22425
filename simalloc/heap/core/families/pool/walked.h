/* Pools whose free blocks stand in no list: a request walks over all blocks, used ones too, from the
 * lowest free one up to the first that is large enough. A freed block merges with its free neighbours
 * at once. A table ends the pool. */
#ifndef SIMALLOC_WALKED_H
#define SIMALLOC_WALKED_H

#include "families/pool/pool.h"

struct walked {
    struct pool pool;
    uint32_t lowest; /* the lowest free block, or the end */
};

ALWAYS_INLINE bool walked_is_end(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].index_slot == STATE_TABLE;
}

/* The first free block of at least a size from one on, or the end; counts the blocks up to it. */
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

/* Takes the first free block of at least a size, or returns NO_BLOCK. */
uint32_t walked_take(struct walked *state, uint64_t size);
/* The same block comes into use, with its low `size` bytes; the rest, if it has `least`, is free. */
void walked_hand_out(struct walked *state, uint32_t id, uint64_t size, uint64_t least);
/* Makes a block free that is in use: merged with its neighbours, it may be the lowest. */
void walked_free(struct heap *heap, uint32_t id);
/* Gives all but the low `size` bytes of a block in use back. */
void walked_cut(struct walked *state, uint32_t id, uint64_t size);

/* Makes the pool: one free block that begins at `start` and ends at `end`, of `bytes`. */
bool walked_init(struct walked *state, uint64_t start, uint64_t end, uint64_t bytes);
const char *walked_check(const struct walked *state);
/* Returns the bytes of the largest free block, or 0. */
uint64_t walked_largest(const struct walked *state);

#endif
