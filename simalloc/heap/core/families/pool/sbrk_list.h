/* Allocators over an sbrk: one list of free chunks in address order, below a break. */
#ifndef SIMALLOC_SBRK_LIST_H
#define SIMALLOC_SBRK_LIST_H

#include "families/pool/pool_list.h"
#include "families/pool/sbrk.h"

struct sbrk_list {
    struct sbrk sbrk;
    struct pool_list list;
};

/* The entries of struct family for all of them, as in POOL_FAMILY_OF. */
#define SBRK_LIST_FAMILY_OF(state)                                                        \
    .state_size = sizeof(state), PARAMETERS(parameters), FIGURES(figure_names), .init = init, \
    .release = sbrk_list_release, .next_layer = next_layer, .check = sbrk_list_check,         \
    .report = report, POOL_FAMILY

/* Makes the pool; `unit` divides the size of every chunk. */
bool sbrk_list_init(struct sbrk_list *state, uint64_t unit);
bool sbrk_list_reserve(struct heap *heap);
void sbrk_list_release(void *memory);
const char *sbrk_list_check(const void *memory);

/* Joins a waste block with its free neighbours, but not with the room, and enters it. Returns the
 * number of chunks in front in the list. */
uint64_t sbrk_list_give_back(struct sbrk_list *state, uint32_t id);
/* All but the low `size` bytes of a waste block become a free chunk. */
void sbrk_list_cut(struct sbrk_list *state, uint32_t id, uint64_t size);
/* Makes the low `size` bytes of a waste block a free chunk. Returns the rest, waste. */
uint32_t sbrk_list_cut_front(struct sbrk_list *state, uint32_t id, uint64_t size);
/* Raises the break by `more` bytes, and takes the chunk `top` of the list, which ends there and then
 * has them. Returns it, waste, or NO_BLOCK if the break cannot rise. */
uint32_t sbrk_list_extend(struct sbrk_list *state, uint32_t top, uint64_t more);
/* Frees a block in use. */
void sbrk_list_free(struct heap *heap, uint32_t id);
/* The chunk of the list that ends at the break, or NO_BLOCK. */
uint32_t sbrk_list_top(const struct sbrk_list *state);
/* Return the bytes of the largest free chunk, or 0, and of all free chunks. */
uint64_t sbrk_list_largest(const struct sbrk_list *state);
uint64_t sbrk_list_bytes(const struct sbrk_list *state);
/* The bytes of the largest chunk that can be had: one of the list, or the room behind what an alignment
 * takes of it, together with a free chunk `top` below it, or NO_BLOCK. */
uint64_t sbrk_list_max(const struct sbrk_list *state, uint32_t top, uint64_t header,
                        uint64_t alignment);

#endif
