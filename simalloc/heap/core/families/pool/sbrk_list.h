/* Allocators over an sbrk that has a limit: one list of free chunks in address order, below a break
 * that rises into what is left of the pool.
 *
 *   0                                                        break                 capacity
 *   +-------+-------+------------+-------+------------------+---------------------+
 *   | chunk | chunk | free chunk | chunk | free chunk       | room                |
 *   +-------+-------+------------+-------+------------------+---------------------+
 *
 * The room is a free block that is in no list and merges with none. Larger pools decide alike until
 * the first sbrk that is refused, and notes each of these: nothing else depends on the limit. */
#ifndef SIMALLOC_SBRK_LIST_H
#define SIMALLOC_SBRK_LIST_H

#include "families/pool/pool.h"
#include "families/pool/pool_list.h"

struct sbrk_list {
    struct pool pool;
    struct pool_list list;
    uint32_t room; /* NO_BLOCK: the break is at the limit */
};

/* What stands in struct family for all of them, as POOL_FAMILY_OF has it. */
#define SBRK_LIST_FAMILY_OF(state)                                                        \
    .state_size = sizeof(state), PARAMETERS(parameters), FIGURES(figure_names), .init = init, \
    .release = sbrk_list_release, .next_layer = next_layer, .check = sbrk_list_check,         \
    .report = report, POOL_FAMILY

/* Makes the pool; `unit` divides the size of every chunk. */
bool sbrk_list_init(struct sbrk_list *state, uint64_t unit);
bool sbrk_list_reserve(struct heap *heap);
void sbrk_list_release(void *memory);
const char *sbrk_list_check(const void *memory);

/* Raises the break and returns what is new, waste; NO_BLOCK if there is not so much room. */
uint32_t sbrk_raise(struct sbrk_list *state, uint64_t size);
/* As sbrk_raise(), but what is `header` bytes behind the start lies at a multiple of `alignment`: a
 * second sbrk asks for the bytes that this takes. If it is refused, the first one's are lost. */
uint32_t sbrk_raise_aligned(struct sbrk_list *state, uint64_t size, uint64_t header,
                            uint64_t alignment);
/* Makes a waste block that ends at the break longer; false: there is not so much room. */
bool sbrk_extend(struct sbrk_list *state, uint32_t id, uint64_t size);
/* Gives the pool's end back, from a block on that is in no list and ends at the break. */
void sbrk_lower(struct sbrk_list *state, uint32_t id);

/* Joins a waste block with its free neighbours, but not with the room, and enters it. Returns how
 * many chunks of the list are in front. */
uint64_t sbrk_list_give_back(struct sbrk_list *state, uint32_t id);
/* All but the low `size` bytes of a waste block become a free chunk. */
void sbrk_list_cut(struct sbrk_list *state, uint32_t id, uint64_t size);
/* Frees a block in use. And that where realloc is asked for 0 bytes: it returns nothing. */
void sbrk_list_free(struct heap *heap, uint32_t id);
uint32_t sbrk_list_free_instead(struct heap *heap, uint32_t id);
/* The chunk of the list that ends at the break, or NO_BLOCK. */
uint32_t sbrk_list_top(const struct sbrk_list *state);
/* The bytes of the largest free chunk; 0: there is none. And of all of them. */
uint64_t sbrk_list_largest(const struct sbrk_list *state);
uint64_t sbrk_list_bytes(const struct sbrk_list *state);

ALWAYS_INLINE uint64_t sbrk_room(const struct sbrk_list *state)
{
    return state->room == NO_BLOCK ? 0 : state->pool.heap.blocks[state->room].size;
}

ALWAYS_INLINE uint64_t sbrk_break(const struct sbrk_list *state)
{
    return state->pool.capacity - sbrk_room(state);
}

/* The bytes that a chunk at the break would be moved up by. */
ALWAYS_INLINE uint64_t sbrk_missing(const struct sbrk_list *state, uint64_t header,
                                    uint64_t alignment)
{
    uint64_t start = state->pool.skew + sbrk_break(state) + header;
    return round_up(start, alignment) - start;
}

#endif
