/* Common part of allocators over an sbrk that have one list of free chunks in address order, below
 * the break. */
#ifndef SIMALLOC_SBRK_LIST_H
#define SIMALLOC_SBRK_LIST_H

#include "families/pool/pool_list.h"
#include "families/pool/sbrk.h"

struct sbrk_list {
    struct sbrk sbrk;
    struct pool_list list;
};

/* Members of struct family that these allocators share, like POOL_FAMILY_OF. */
#define SBRK_LIST_FAMILY_OF(state)                                                        \
    .state_size = sizeof(state), PARAMETERS(parameters), FIGURES(figure_names), .init = init, \
    .release = sbrk_list_release, .next_layer = next_layer, .check = sbrk_list_check,         \
    .report = report, POOL_FAMILY

/* Initialises a pool without chunks. `unit` divides the size of every chunk. Returns false if
 * memory is exhausted. */
bool sbrk_list_init(struct sbrk_list *state, uint64_t unit);
bool sbrk_list_reserve(struct heap *heap);
void sbrk_list_release(void *memory);
const char *sbrk_list_check(const void *memory);

/* Merges a waste block with its free neighbours, but not with the room, and inserts the result into
 * the list. Returns the number of chunks before the block in the list. */
uint64_t sbrk_list_give_back(struct sbrk_list *state, uint32_t id);
/* Frees all bytes of a waste block beyond its low `size` bytes as a chunk. */
void sbrk_list_cut(struct sbrk_list *state, uint32_t id, uint64_t size);
/* Frees the low `size` bytes of a waste block as a chunk. Returns the remainder, which is
 * waste. */
uint32_t sbrk_list_cut_front(struct sbrk_list *state, uint32_t id, uint64_t size);
/* Raises the break by `more` bytes. Joins them to `top`, the chunk of the list that ends at the
 * break, and removes `top` from the list. Returns `top`, which is waste, or NO_BLOCK if the break
 * cannot rise. */
uint32_t sbrk_list_extend(struct sbrk_list *state, uint32_t top, uint64_t more);
void sbrk_list_free(struct heap *heap, uint32_t id);
/* Returns the chunk of the list that ends at the break, or NO_BLOCK. */
uint32_t sbrk_list_top(const struct sbrk_list *state);
/* Return the size of the largest free chunk, or 0, and the total size of all free chunks. */
uint64_t sbrk_list_largest(const struct sbrk_list *state);
uint64_t sbrk_list_bytes(const struct sbrk_list *state);
/* Returns the size of the largest chunk that can be allocated. This is a chunk of the list, or the
 * room without the padding of a new chunk. If `top` is not NO_BLOCK, the room is extended by this
 * free chunk below it. */
uint64_t sbrk_list_max(const struct sbrk_list *state, uint32_t top, uint64_t header,
                        uint64_t alignment);

#endif
