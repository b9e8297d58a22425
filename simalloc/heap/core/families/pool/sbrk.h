/* An sbrk with a limit: a break that rises into the remainder of the pool.
 *
 *   0                                                        break                 capacity
 *   +-------+-------+------------+-------+------------------+---------------------+
 *   | chunk | chunk | free chunk | chunk | free chunk       | room                |
 *   +-------+-------+------------+-------+------------------+---------------------+
 *
 * The room is a free block that is in no index and merges with no block. Only a refused sbrk
 * depends on the limit. Larger pools therefore make the same decisions until the first refused
 * sbrk, and sbrk_raise() lowers `same_for` of struct heap at each refusal. */
#ifndef SIMALLOC_SBRK_H
#define SIMALLOC_SBRK_H

#include "families/pool/pool.h"

struct sbrk {
    struct pool pool;
    uint32_t room; /* free block above the break, or NO_BLOCK if the break is at the limit */
};

/* Initialises a pool without chunks. Returns false if memory is exhausted. */
bool sbrk_init(struct sbrk *state);

/* Raises the break. Returns the new memory, which is waste, or NO_BLOCK if the room is too
 * small. */
uint32_t sbrk_raise(struct sbrk *state, uint64_t size);
/* Raises the break like sbrk_raise(), so that the address `header` bytes after the start of the new
 * memory is a multiple of `alignment`. A second sbrk requests the padding. If the second one is
 * refused, the memory of the first is lost. */
uint32_t sbrk_raise_aligned(struct sbrk *state, uint64_t size, uint64_t header,
                            uint64_t alignment);
/* Extends a waste block that ends at the break. Returns false if the room is too small. */
bool sbrk_extend(struct sbrk *state, uint32_t id, uint64_t size);
/* Lowers the break to the start of an unlisted block that ends at the break. */
void sbrk_lower(struct sbrk *state, uint32_t id);

ALWAYS_INLINE uint64_t sbrk_room(const struct sbrk *state)
{
    return state->room == NO_BLOCK ? 0 : state->pool.heap.blocks[state->room].size;
}

ALWAYS_INLINE uint64_t sbrk_break(const struct sbrk *state)
{
    return state->pool.capacity - sbrk_room(state);
}

/* Returns the padding of a new chunk at the break. */
ALWAYS_INLINE uint64_t sbrk_missing(const struct sbrk *state, uint64_t header,
                                    uint64_t alignment)
{
    uint64_t start = state->pool.skew + sbrk_break(state) + header;
    return round_up(start, alignment) - start;
}

#endif
