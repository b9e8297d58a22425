/* The form of next fit in a ring of slots, FIFO or in address order. */
#ifndef SIMALLOC_RING_FORM_H
#define SIMALLOC_RING_FORM_H

#include "index/list/fit_list_state.h"

/* Puts a block behind the free one below it or before the one above it, or before the rover. */
ALWAYS_INLINE void ring_insert(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    struct block *blocks = state->heap.blocks;
    if (UNLIKELY(state->rover == NO_BLOCK)) {
        ring_list_start(state->ring, blocks, id);
        state->rover = id;
        return;
    }
    if (rule.order != ORDER_ADDRESS) {
        ring_list_insert(state->ring, blocks, id, state->rover, false);
        return;
    }
    struct near near = nearest_free(blocks, id, &state->walk.passed);
    ring_list_insert(state->ring, blocks, id, near.block, near.below);
}

ALWAYS_INLINE void ring_pass(struct list_fit *state, struct seat seat)
{
    if (state->rover == seat.block)
        state->rover = ring_list_following(state->ring, state->heap.blocks, seat.block);
}

ALWAYS_INLINE void ring_remove(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    (void)rule;
    ring_pass(state, seat);
    ring_list_remove(state->ring, state->heap.blocks, seat.block);
    if (state->rover == seat.block)
        state->rover = NO_BLOCK;
}

ALWAYS_INLINE void ring_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    (void)change, (void)rule;
    ring_list_change(state->ring, &state->heap.blocks[seat.block]);
}

ALWAYS_INLINE struct seat ring_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    (void)rule;
    struct seat seat = {NO_BLOCK, NOWHERE};
    *visited = 0;
    if (state->rover != NO_BLOCK)
        seat.block = ring_list_first(state->ring, state->heap.blocks, state->rover, size, visited);
    return seat;
}

#endif
