/* Form of short lists, for first fit in FIFO or address order. */
#ifndef SIMALLOC_FLAT_FORM_H
#define SIMALLOC_FLAT_FORM_H

#include "index/list/fit_list_state.h"

ALWAYS_INLINE void flat_insert(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    flat_list_insert(&state->flat, state->heap.blocks, id, rule.order == ORDER_ADDRESS);
}

ALWAYS_INLINE void flat_remove(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    (void)rule;
    flat_list_remove(&state->flat, state->heap.blocks, seat.block);
}

ALWAYS_INLINE void flat_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    (void)change;
    const struct block *block = &state->heap.blocks[seat.block];
    flat_list_change(&state->flat, block, block->index_slot, rule.order == ORDER_ADDRESS);
}

ALWAYS_INLINE struct seat flat_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    uint32_t slot = flat_list_first(&state->flat, &state->heap, size,
                                    rule.order == ORDER_ADDRESS, visited);
    uint32_t block = slot == FLAT_NOWHERE ? NO_BLOCK : state->flat.block[slot];
    return (struct seat){block, NOWHERE};
}

#endif
