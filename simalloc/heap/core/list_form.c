#include "list_fit.h"

#include <stdlib.h>

/* How many visits take as long as a search of a tree with what the tree costs besides; how far the
 * form may be behind the other one, in visits and in visits for each block; and how many blocks are
 * walked at most, for a batch of long walks is soon over then. */
enum { FAIR_VISITS = 8, MOST_BEHIND = 1 << 12, MOST_BEHIND_A_BLOCK = 4, MOST_WALKED = 1 << 14 };

/* How many blocks a list has at most that stays flat, and by how many a flat list may have more
 * empty slots than blocks. */
enum { MOST_FLAT = 128, MOST_EMPTY = 64 };

static bool can_walk(struct policy policy)
{
    return policy.fit == FIT_NEXT || policy.order != ORDER_ADDRESS;
}

void list_init(struct list_fit *state, enum fit fit, enum order order)
{
    struct policy policy = {fit, order, FORM_WALK};
    policy.form = can_walk(policy) ? FORM_WALK : FORM_TREE;
    state->policy = policy;
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

/* Whether the tree has the list the other way round. */
static bool is_newest_last(struct policy policy)
{
    return policy.fit == FIT_FIRST && policy.order == ORDER_LIFO;
}

static void walk_tree(struct list_fit *state)
{
    struct block_list *tree = &state->tree;
    bool newest_last = is_newest_last(state->policy);
    struct cursor at = block_list_first(tree, UINT64_C(1) << tree->granule);
    for (uint32_t i = 0; i < tree->blocks; i++) {
        uint32_t id = block_at(tree, at);
        at = block_list_locate(state->heap.blocks, block_list_following(tree, at));
        walked_list_insert(&state->walk, state->heap.blocks, id, newest_last);
    }
    block_list_clear(tree);
}

static void walk_flat(struct list_fit *state)
{
    uint32_t blocks[FLAT_SLOTS];
    flat_list_blocks(&state->flat, state->policy.order == ORDER_ADDRESS, blocks);
    for (uint64_t i = 0; i < state->heap.counters.free_blocks; i++)
        walked_list_insert(&state->walk, state->heap.blocks, blocks[i], false);
    flat_list_clear(&state->flat);
}

static void walk_aged(struct list_fit *state)
{
    struct aged_list *aged = state->aged;
    bool newest_last = is_newest_last(state->policy);
    for (uint32_t slot = 0; slot < aged->used; slot++)
        if (aged_list_is_taken(aged, slot))
            walked_list_insert(&state->walk, state->heap.blocks, aged->block[slot], newest_last);
    aged_list_clear(aged);
}

/* Links the blocks of any form, from which every other can be made. */
static void make_walk(struct list_fit *state)
{
    if (state->policy.form == FORM_WALK)
        return;
    if (state->policy.form == FORM_TREE)
        walk_tree(state);
    else if (state->policy.form == FORM_AGED)
        walk_aged(state);
    else
        walk_flat(state);
    if (state->policy.fit == FIT_NEXT)
        state->walk.front = state->rover;
    state->rover = NO_BLOCK;
    state->policy.form = FORM_WALK;
}

static void leave_walk(struct list_fit *state, enum form form)
{
    bool newest_last = is_newest_last(state->policy);
    bool ordered = state->policy.order == ORDER_ADDRESS;
    struct block *blocks = state->heap.blocks;
    uint32_t front = state->walk.front;
    uint32_t id = newest_last && front != NO_BLOCK ? blocks[front].home : front;
    for (uint64_t i = 0; i < state->heap.counters.free_blocks; i++) {
        uint32_t next = newest_last ? blocks[id].home : blocks[id].mark;
        if (form == FORM_FLAT)
            flat_list_insert(&state->flat, blocks, id, ordered);
        else if (form == FORM_AGED)
            aged_list_insert(state->aged, blocks, id);
        else
            block_list_insert(&state->tree, blocks,
                              place_to_enter(state, blocks[id].address, state->policy), id,
                              ordered);
        id = next;
    }
    state->rover = state->policy.fit == FIT_NEXT ? front : NO_BLOCK;
    state->walk.front = NO_BLOCK;
    state->policy.form = form;
}

static bool make_room_for_aged(struct list_fit *state)
{
    if (state->aged == NULL) {
        state->aged = calloc(1, sizeof *state->aged);
        if (state->aged != NULL)
            state->aged->granule = state->tree.granule;
    }
    return state->aged != NULL;
}

/* Makes a form anew of whichever there is; false when memory is exhausted. */
static bool make(struct list_fit *state, enum form form)
{
    state->balance = 0;
    uint64_t blocks = state->heap.counters.free_blocks;
    if (form == FORM_TREE && !block_list_reserve_for(&state->tree, blocks))
        return false;
    if (form == FORM_AGED && !make_room_for_aged(state))
        return false;
    make_walk(state);
    if (form != FORM_WALK)
        leave_walk(state, form);
    return true;
}

/* Whether a list of at most so many blocks may be flat for a batch of events. */
static bool may_be_flat(const struct list_fit *state, uint64_t most)
{
    const struct policy *policy = &state->policy;
    return policy->fit == FIT_FIRST && policy->order != ORDER_LIFO &&
           state->heap.counters.free_blocks <= most &&
           flat_list_fits(&state->flat, state->heap.brk, policy->order == ORDER_ADDRESS);
}

/* Whether a list of at most so many blocks may be kept by age. */
static bool may_be_aged(const struct list_fit *state, uint64_t most)
{
    const struct policy *policy = &state->policy;
    return policy->fit == FIT_FIRST && policy->order != ORDER_ADDRESS &&
           state->heap.counters.free_blocks <= most;
}

/* Whether the list may have a form for a batch of events. */
static bool is_possible(const struct list_fit *state, enum form form)
{
    switch (form) {
    case FORM_FLAT:
        return may_be_flat(state, FLAT_BLOCKS);
    case FORM_AGED:
        return may_be_aged(state, AGED_BLOCKS);
    case FORM_WALK:
        return can_walk(state->policy);
    default:
        return true;
    }
}

/* Whether a flat list should be made anew: it has many empty slots, or keys run out. */
static bool is_worn(const struct list_fit *state)
{
    const struct flat_list *flat = &state->flat;
    return flat->steps * FLAT_STEP > 2 * state->heap.counters.free_blocks + MOST_EMPTY ||
           flat->clock >= FLAT_KEYS - 3 * BATCH;
}

/* Whether the list has been in the wrong form for so long that a change is worth its price. */
static bool is_behind(struct list_fit *state)
{
    const struct counters *counters = &state->heap.counters;
    bool walked = state->policy.form == FORM_WALK;
    state->passed = walked ? state->walk.passed : state->passed - (state->passed + 1023) / 1024;
    state->walk.passed = 0;
    int64_t fair = FAIR_VISITS * (int64_t)(counters->searches - state->searches);
    int64_t saved = fair - (int64_t)(counters->visited - state->visited + state->passed);
    state->searches = counters->searches;
    state->visited = counters->visited;
    state->balance += walked ? saved : -saved;
    if (state->balance > 0)
        state->balance = 0;
    return -state->balance > MOST_BEHIND + MOST_BEHIND_A_BLOCK * (int64_t)counters->free_blocks;
}

/* Whether the list should be walked, where there is such a form. */
static bool walks(struct list_fit *state)
{
    bool walked = state->policy.form == FORM_WALK;
    if (walked == is_behind(state))
        return false;
    if (state->policy.order == ORDER_ADDRESS && state->heap.used > NEAR_BLOCKS)
        return false;
    return state->heap.counters.free_blocks <= (walked ? MOST_WALKED : MOST_WALKED / 2);
}

static enum form due_form(struct list_fit *state)
{
    enum form form = state->policy.form;
    if (state->held && is_possible(state, form))
        return form;
    if (can_walk(state->policy) && walks(state))
        return FORM_WALK;
    if (may_be_flat(state, form == FORM_FLAT ? MOST_FLAT : MOST_FLAT / 2))
        return FORM_FLAT;
    return may_be_aged(state, form == FORM_AGED ? AGED_BLOCKS : AGED_BLOCKS / 2) ? FORM_AGED
                                                                                 : FORM_TREE;
}

bool list_settle(struct list_fit *state)
{
    enum form form = due_form(state);
    if (form != state->policy.form || (form == FORM_FLAT && is_worn(state)))
        return make(state, form);
    if (form == FORM_AGED && !aged_list_is_roomy(state->aged, state->heap.counters.free_blocks))
        aged_list_pack(state->aged, state->heap.blocks);
    return true;
}

bool list_change_form(struct list_fit *state)
{
    enum form form = state->policy.form;
    do
        form = (form + 1) % FORMS;
    while (!is_possible(state, form));
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
        uint32_t after = blocks[id].mark;
        if (blocks[after].home != id)
            return "a block of the list does not know the one before it";
        id = after;
    }
    return id == state->walk.front ? NULL : "the list does not hold exactly the free blocks";
}

static const char *check_tree(const struct list_fit *state)
{
    const char *wrong = block_list_check(&state->tree, state->policy.order == ORDER_ADDRESS);
    if (wrong != NULL)
        return wrong;
    if (state->tree.blocks != state->heap.counters.free_blocks)
        return "the list does not hold exactly the free blocks";
    if (state->policy.fit != FIT_NEXT)
        return NULL;
    if ((state->rover == NO_BLOCK) != (state->tree.blocks == 0))
        return "the rover is not on the list";
    if (state->rover != NO_BLOCK && !heap_is_free(&state->heap, state->rover))
        return "the rover stands on a block that is not free";
    return NULL;
}

const char *list_check(const struct list_fit *state)
{
    if (state->policy.form == FORM_WALK)
        return check_walk(state);
    if (state->policy.form == FORM_FLAT)
        return flat_list_check(&state->flat, &state->heap, state->policy.order == ORDER_ADDRESS);
    if (state->policy.form == FORM_AGED)
        return aged_list_check(state->aged, &state->heap);
    return check_tree(state);
}
