/* An sbrk with a limit: a break that rises into the rest of the pool.
 *
 *   0                                                        break                 capacity
 *   +-------+-------+------------+-------+------------------+---------------------+
 *   | chunk | chunk | free chunk | chunk | free chunk       | room                |
 *   +-------+-------+------------+-------+------------------+---------------------+
 *
 * The room is a free block that is in no index and merges with none. Larger pools decide alike until
 * the first refused sbrk, and sbrk_raise() records each: nothing else depends on the limit. */
#ifndef SIMALLOC_SBRK_H
#define SIMALLOC_SBRK_H

#include "families/pool/pool.h"

struct sbrk {
    struct pool pool;
    uint32_t room; /* NO_BLOCK: the break is at the limit */
};

/* Makes the pool, which is all room. */
bool sbrk_init(struct sbrk *state);

/* Raises the break and returns the new memory, waste; NO_BLOCK if the room is too small. */
uint32_t sbrk_raise(struct sbrk *state, uint64_t size);
/* As sbrk_raise(), but the address `header` bytes behind the start is a multiple of `alignment`. A
 * second sbrk requests the padding. If the second is refused, the memory of the first is lost. */
uint32_t sbrk_raise_aligned(struct sbrk *state, uint64_t size, uint64_t header,
                            uint64_t alignment);
/* Makes a waste block that ends at the break longer; false: there is not so much room. */
bool sbrk_extend(struct sbrk *state, uint32_t id, uint64_t size);
/* Gives the pool's end back, from a block on that is in no list and ends at the break. */
void sbrk_lower(struct sbrk *state, uint32_t id);

ALWAYS_INLINE uint64_t sbrk_room(const struct sbrk *state)
{
    return state->room == NO_BLOCK ? 0 : state->pool.heap.blocks[state->room].size;
}

ALWAYS_INLINE uint64_t sbrk_break(const struct sbrk *state)
{
    return state->pool.capacity - sbrk_room(state);
}

/* The bytes that a chunk at the break would be moved up by. */
ALWAYS_INLINE uint64_t sbrk_missing(const struct sbrk *state, uint64_t header,
                                    uint64_t alignment)
{
    uint64_t start = state->pool.skew + sbrk_break(state) + header;
    return round_up(start, alignment) - start;
}

#endif
