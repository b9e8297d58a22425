#include "list_fit.h"

/* How many visits take as long as a search of a tree with what the tree costs besides; how far the
 * form may be behind the other one, in visits and in visits for each block; and how many blocks are
 * walked at most, for a batch of long walks is soon over then. */
enum { FAIR_VISITS = 8, MOST_BEHIND = 1 << 12, MOST_BEHIND_A_BLOCK = 4, MOST_WALKED = 1 << 14, MOST_FLAT = 128, MOST_EMPTY = 64 };

void list_init(struct list_fit *state, enum fit fit, enum order order)
{
    state->policy = (struct policy){fit, order, order == ORDER_ADDRESS ? FORM_TREE : FORM_WALK};
    state->held = false;
    state->balance = 0;
    state->searches = state->visited = 0;
    state->walk.front = NO_BLOCK;
    state->rover = NO_BLOCK;
    state->flat.granule = state->tree.granule;
    flat_list_clear(&state->flat);
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
        at = block_list_locate(tree, block_list_following(tree, at));
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

/* Makes a walk of any form; in address order it may begin anywhere and go to and fro. */
static void make_walk(struct list_fit *state)
{
    if (state->policy.form == FORM_TREE)
        walk_tree(state);
    else if (state->policy.form == FORM_FLAT)
        walk_flat(state);
    else
        return;
    if (state->policy.fit == FIT_NEXT)
        state->walk.front = state->rover;
    state->rover = NO_BLOCK;
    state->policy.form = FORM_WALK;
}

static void put_last(struct list_fit *state, uint32_t id)
{
    struct block *blocks = state->heap.blocks;
    struct block_list *tree = &state->tree;
    bool ordered = state->policy.order == ORDER_ADDRESS;
    if (state->policy.form == FORM_FLAT)
        flat_list_insert(&state->flat, blocks, id, ordered);
    else
        block_list_insert(tree,
                          ordered ? block_list_position(tree, blocks[id].address)
                                  : block_list_back(tree),
                          id, ordered);
}

/* Makes another form of a walk. */
static void leave_walk(struct list_fit *state, enum form form)
{
    bool newest_last = is_newest_last(state->policy);
    uint32_t front = state->walk.front;
    uint32_t id = newest_last && front != NO_BLOCK ? state->heap.blocks[front].home : front;
    state->policy.form = form;
    for (uint64_t i = 0; i < state->heap.counters.free_blocks; i++) {
        const struct block *block = &state->heap.blocks[id];
        uint32_t next = newest_last ? block->home : block->mark;
        put_last(state, id);
        id = next;
    }
    state->rover = state->policy.fit == FIT_NEXT ? front : NO_BLOCK;
    state->walk.front = NO_BLOCK;
}

/* Makes a form anew, of whatever there is. */
static bool make(struct list_fit *state, enum form form)
{
    state->balance = 0;
    if (form == FORM_TREE &&
        !block_list_reserve_for(&state->tree, state->heap.counters.free_blocks))
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

/* Whether a flat list should be made anew: it has many empty slots, or keys run out. */
static bool is_worn(const struct list_fit *state)
{
    const struct flat_list *flat = &state->flat;
    return flat->steps * FLAT_STEP > 2 * state->heap.counters.free_blocks + MOST_EMPTY ||
           flat->clock >= (1 << FLAT_KEY_BITS) - 3 * BATCH;
}

/* Whether the list has been in the wrong form for so long that a change is worth its price. */
static bool is_behind(struct list_fit *state)
{
    const struct counters *counters = &state->heap.counters;
    int64_t fair = FAIR_VISITS * (int64_t)(counters->searches - state->searches);
    int64_t saved = fair - (int64_t)(counters->visited - state->visited);
    state->searches = counters->searches;
    state->visited = counters->visited;
    state->balance += state->policy.form == FORM_WALK ? saved : -saved;
    if (state->balance > 0)
        state->balance = 0;
    return -state->balance > MOST_BEHIND + MOST_BEHIND_A_BLOCK * (int64_t)counters->free_blocks;
}

/* The form that the list ought to have. */
static enum form due_form(struct list_fit *state)
{
    enum form form = state->policy.form;
    uint64_t blocks = state->heap.counters.free_blocks;
    bool behind = is_behind(state);
    bool may_walk = state->policy.order != ORDER_ADDRESS;
    if (form == FORM_WALK ? !behind && blocks <= MOST_WALKED
                          : may_walk && behind && blocks <= MOST_WALKED / 2)
        return FORM_WALK;
    return may_be_flat(state, form == FORM_FLAT ? MOST_FLAT : MOST_FLAT / 2) ? FORM_FLAT : FORM_TREE;
}

bool list_settle(struct list_fit *state)
{
    enum form form = due_form(state);
    if (state->held && (state->policy.form != FORM_FLAT || may_be_flat(state, FLAT_BLOCKS)))
        form = state->policy.form;
    bool stays = form == state->policy.form && !(form == FORM_FLAT && is_worn(state));
    return stays || make(state, form);
}

bool list_change_form(struct list_fit *state)
{
    static const enum form next[] = {
        [FORM_TREE] = FORM_FLAT, [FORM_FLAT] = FORM_WALK, [FORM_WALK] = FORM_TREE};
    enum form form = next[state->policy.form];
    if (form == FORM_FLAT && !may_be_flat(state, FLAT_BLOCKS))
        form = FORM_WALK;
    if (form == FORM_WALK && state->policy.order == ORDER_ADDRESS)
        form = FORM_TREE;
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
    return check_tree(state);
}
