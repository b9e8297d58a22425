/* Form of aged lists, for first fit in LIFO or FIFO order. */
#ifndef SIMALLOC_AGED_FORM_H
#define SIMALLOC_AGED_FORM_H

#include "index/list/fit_list_state.h"

ALWAYS_INLINE void aged_insert(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    (void)rule;
    aged_list_insert(state->aged, state->heap.blocks, id);
}

ALWAYS_INLINE void aged_remove(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    (void)rule;
    aged_list_remove(state->aged, state->heap.blocks, seat.block);
}

ALWAYS_INLINE void aged_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    (void)change, (void)rule;
    aged_list_change(state->aged, &state->heap.blocks[seat.block]);
}

ALWAYS_INLINE struct seat aged_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    bool newest = rule.order == ORDER_LIFO;
    uint32_t block = aged_list_first(state->aged, &state->heap, size, newest, visited);
    return (struct seat){block, NOWHERE};
}

#endif
