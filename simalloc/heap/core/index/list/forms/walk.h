/* Form of a ring that is walked; its front is the rover. */
#ifndef SIMALLOC_WALK_FORM_H
#define SIMALLOC_WALK_FORM_H

#include "index/list/fit_list_state.h"

ALWAYS_INLINE void walk_insert(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    struct block *blocks = state->heap.blocks;
    if (rule.order == ORDER_ADDRESS)
        walked_list_insert_by_address(&state->walk, blocks, id);
    else
        block_ring_insert(&state->walk.front, blocks, id, rule.order == ORDER_LIFO);
}

ALWAYS_INLINE void walk_pass(struct list_fit *state, struct seat seat)
{
    if (state->walk.front == seat.block)
        state->walk.front = state->heap.blocks[seat.block].family_data;
}

ALWAYS_INLINE void walk_remove(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    (void)rule;
    block_ring_remove(&state->walk.front, state->heap.blocks, seat.block);
}

/* Does nothing, because the ring stores no sizes. */
ALWAYS_INLINE void walk_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    (void)state, (void)seat, (void)change, (void)rule;
}

ALWAYS_INLINE struct seat walk_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    (void)rule;
    uint32_t block = walked_list_first(&state->walk, state->heap.blocks, size, visited);
    return (struct seat){block, NOWHERE};
}

#endif
