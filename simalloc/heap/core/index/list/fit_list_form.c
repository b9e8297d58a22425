#include "index/list/fit_list.h"

#include <stdlib.h>

/* A flat list is rebuilt if its empty slots outnumber its blocks by more than this number. */
enum { MAX_EMPTY = 64 };

void list_init(struct list_fit *state, enum fit fit, enum order order)
{
    struct list_rule rule = {fit, order, FORM_WALK};
    state->rule = rule;
    if (!list_may_be(state, FORM_WALK))
        state->rule.form = FORM_TREE;
    state->held = false;
    state->balance = 0;
    state->searches = state->visited = state->passed = 0;
    state->walk = (struct walked_list){.front = NO_BLOCK};
    state->flat.granule = state->tree.granule;
    flat_list_clear(&state->flat);
    state->rover = NO_BLOCK;
}

void list_release(struct list_fit *state)
{
    block_list_release(&state->tree);
    free(state->aged);
    state->aged = NULL;
}

/* Returns whether the tree stores the list in reverse. */
static bool is_newest_last(struct list_rule rule)
{
    return rule.fit == FIT_FIRST && rule.order == ORDER_LIFO;
}

static void link_tree(struct list_fit *state)
{
    struct block_list *tree = &state->tree;
    bool newest_last = is_newest_last(state->rule);
    struct cursor at = block_list_first(tree, UINT64_C(1) << tree->granule);
    for (uint32_t i = 0; i < tree->blocks; i++) {
        uint32_t id = block_at(tree, at);
        at = block_list_locate(state->heap.blocks, block_list_following(tree, at));
        block_ring_insert(&state->walk.front, state->heap.blocks, id, newest_last);
    }
    block_list_clear(tree);
}

static void link_flat(struct list_fit *state)
{
    uint32_t blocks[FLAT_SLOTS];
    flat_list_blocks(&state->flat, state->rule.order == ORDER_ADDRESS, blocks);
    for (uint64_t i = 0; i < state->heap.counters.free_blocks; i++)
        block_ring_insert(&state->walk.front, state->heap.blocks, blocks[i], false);
    flat_list_clear(&state->flat);
}

static void link_aged(struct list_fit *state)
{
    struct aged_list *aged = state->aged;
    bool newest_last = is_newest_last(state->rule);
    for (uint32_t slot = 0; slot < aged->used; slot++)
        if (aged_list_is_taken(aged, slot))
            block_ring_insert(&state->walk.front, state->heap.blocks, aged->block[slot],
                              newest_last);
    aged_list_clear(aged);
}

/* Changes any form to a ring. All other forms are made from the ring. */
static void make_walk(struct list_fit *state)
{
    if (state->rule.form == FORM_WALK)
        return;
    if (state->rule.form == FORM_TREE)
        link_tree(state);
    else if (state->rule.form == FORM_FLAT)
        link_flat(state);
    else
        link_aged(state);
    if (state->rule.fit == FIT_NEXT)
        state->walk.front = state->rover;
    state->rover = NO_BLOCK;
    state->rule.form = FORM_WALK;
}

static void leave_walk(struct list_fit *state, enum form form)
{
    bool newest_last = is_newest_last(state->rule);
    bool ordered = state->rule.order == ORDER_ADDRESS;
    struct block *blocks = state->heap.blocks;
    uint32_t front = state->walk.front;
    uint32_t id = newest_last && front != NO_BLOCK ? blocks[front].index_slot : front;
    for (uint64_t i = 0; i < state->heap.counters.free_blocks; i++) {
        uint32_t next = newest_last ? blocks[id].index_slot : blocks[id].family_data;
        if (form == FORM_FLAT)
            flat_list_insert(&state->flat, blocks, id, ordered);
        else if (form == FORM_AGED)
            aged_list_insert(state->aged, blocks, id);
        else
            block_list_insert(&state->tree, blocks,
                              place_to_enter(state, blocks[id].address, state->rule), id,
                              ordered);
        id = next;
    }
    state->rover = state->rule.fit == FIT_NEXT ? front : NO_BLOCK;
    state->walk.front = NO_BLOCK;
    state->rule.form = form;
}

/* Reserves memory for a form. Returns false if memory is exhausted. */
static bool make_room(struct list_fit *state, enum form form)
{
    if (form == FORM_TREE)
        return block_list_reserve_for(&state->tree, state->heap.counters.free_blocks);
    if (form == FORM_AGED && state->aged == NULL) {
        state->aged = calloc(1, sizeof *state->aged);
        if (state->aged != NULL)
            state->aged->granule = state->tree.granule;
        return state->aged != NULL;
    }
    return true;
}

/* Changes to a form, or rebuilds the present form. Returns false if memory is exhausted. */
static bool make(struct list_fit *state, enum form form)
{
    if (!make_room(state, form))
        return false;
    state->balance = 0;
    make_walk(state);
    if (form != FORM_WALK)
        leave_walk(state, form);
    return true;
}

/* Returns whether a flat list must be rebuilt, because it has many empty slots or few keys left. */
static bool is_worn(const struct list_fit *state)
{
    const struct flat_list *flat = &state->flat;
    return flat->steps * FLAT_STEP > 2 * state->heap.counters.free_blocks + MAX_EMPTY ||
           flat->clock >= FLAT_KEYS - 3 * BATCH;
}

bool list_choose_form(struct list_fit *state)
{
    enum form form = list_due_form(state);
    if (form != state->rule.form || (form == FORM_FLAT && is_worn(state)))
        return make(state, form);
    if (form == FORM_AGED && !aged_list_is_roomy(state->aged, state->heap.counters.free_blocks))
        aged_list_pack(state->aged, state->heap.blocks);
    return true;
}

bool list_change_form(struct list_fit *state)
{
    enum form form = state->rule.form;
    do
        form = (form + 1) % FORMS;
    while (!list_may_be(state, form));
    state->held = true;
    return make(state, form);
}

static const char *check_walk(const struct list_fit *state)
{
    const struct block *blocks = state->heap.blocks;
    uint32_t id = state->walk.front;
    for (uint64_t i = 0; i < state->heap.counters.free_blocks; i++) {
        if (id == NO_BLOCK || !is_free(&blocks[id]))
            return "the list holds a block that is not free";
        uint32_t after = blocks[id].family_data;
        if (blocks[after].index_slot != id)
            return "a block of the list has the wrong predecessor";
        id = after;
    }
    return id == state->walk.front ? NULL : "the list does not hold exactly the free blocks";
}

static const char *check_tree(const struct list_fit *state)
{
    const char *wrong = block_list_check(&state->tree, state->rule.order == ORDER_ADDRESS, false);
    if (wrong != NULL)
        return wrong;
    if (state->tree.blocks != state->heap.counters.free_blocks)
        return "the list does not hold exactly the free blocks";
    if (state->rule.fit != FIT_NEXT)
        return NULL;
    if ((state->rover == NO_BLOCK) != (state->tree.blocks == 0))
        return "the list is empty but has a rover, or is not empty but has none";
    if (state->rover != NO_BLOCK && !heap_is_free(&state->heap, state->rover))
        return "the rover is a block that is not free";
    return NULL;
}

const char *list_check(const struct list_fit *state)
{
    if (state->rule.form == FORM_WALK)
        return check_walk(state);
    if (state->rule.form == FORM_FLAT)
        return flat_list_check(&state->flat, &state->heap, state->rule.order == ORDER_ADDRESS);
    if (state->rule.form == FORM_AGED)
        return aged_list_check(state->aged, &state->heap);
    return check_tree(state);
}
