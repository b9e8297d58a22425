/* Form of long lists: a tree that knows the rank of each block. */
#ifndef SIMALLOC_TREE_FORM_H
#define SIMALLOC_TREE_FORM_H

#include "index/list/fit_list_state.h"

ALWAYS_INLINE struct cursor place_to_enter(const struct list_fit *state, uint64_t address,
                                           struct list_rule rule)
{
    if (rule.order == ORDER_ADDRESS)
        return block_list_position(&state->tree, address);
    if (rule.fit == FIT_NEXT && state->rover != NO_BLOCK)
        return block_list_locate(state->heap.blocks, state->rover);
    return block_list_back(&state->tree);
}

ALWAYS_INLINE void tree_insert(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    struct block *blocks = state->heap.blocks;
    struct cursor at = place_to_enter(state, blocks[id].address, rule);
    block_list_insert(&state->tree, blocks, at, id, rule.order == ORDER_ADDRESS);
    if (rule.fit == FIT_NEXT && (rule.order == ORDER_LIFO || state->rover == NO_BLOCK))
        state->rover = id;
}

ALWAYS_INLINE void tree_pass(struct list_fit *state, struct seat seat)
{
    if (state->rover == seat.block)
        state->rover = block_list_following(&state->tree, seat.at);
}

ALWAYS_INLINE void tree_remove(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    if (rule.fit == FIT_NEXT)
        tree_pass(state, seat);
    block_list_remove(&state->tree, state->heap.blocks, seat.at);
    if (rule.fit == FIT_NEXT && state->tree.blocks == 0)
        state->rover = NO_BLOCK;
}

ALWAYS_INLINE void tree_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    block_list_change(&state->tree, seat.at, &state->heap.blocks[seat.block], change,
                      rule.order == ORDER_ADDRESS);
}

/* Searches the tree. Sets `visited` to the number of blocks that a walk along the list visits. */
ALWAYS_INLINE struct cursor search_tree(struct list_fit *state, uint64_t size, uint64_t *visited,
                                        struct list_rule rule)
{
    struct block_list *tree = &state->tree;
    struct cursor start = NOWHERE;
    struct cursor at;
    if (rule.fit == FIT_NEXT) {
        if (UNLIKELY(state->rover == NO_BLOCK)) { /* empty list */
            *visited = 0;
            return NOWHERE;
        }
        start = block_list_locate(state->heap.blocks, state->rover);
        at = block_list_first_around(tree, start, size);
    } else if (rule.order == ORDER_LIFO) {
        at = block_list_last(tree, size);
    } else {
        at = block_list_first(tree, size);
    }
    if (!found(at))
        *visited = tree->blocks;
    else if (rule.fit == FIT_NEXT)
        *visited = block_list_distance(tree, start, at) + 1;
    else if (rule.order == ORDER_LIFO)
        *visited = tree->blocks - block_list_rank(tree, at);
    else
        *visited = block_list_rank(tree, at) + 1;
    return at;
}

ALWAYS_INLINE struct seat tree_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    struct cursor at = search_tree(state, size, visited, rule);
    return (struct seat){found(at) ? block_at(&state->tree, at) : NO_BLOCK, at};
}

#endif
