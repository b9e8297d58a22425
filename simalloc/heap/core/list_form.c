#include "list_fit.h"

/* How many visits take as long as a search of a tree with what the tree costs besides; how far the
 * form may be behind the other one, in visits and in visits for each block; and how many blocks are
 * walked at most, for a batch of long walks is soon over then. */
enum { FAIR_VISITS = 8, MOST_BEHIND = 1 << 12, MOST_BEHIND_A_BLOCK = 4, MOST_WALKED = 1 << 14 };

void list_init(struct list_fit *state, enum fit fit, enum order order)
{
    state->policy = (struct policy){fit, order, order != ORDER_ADDRESS};
    state->balance = 0;
    state->searches = state->visited = 0;
    state->walk.front = NO_BLOCK;
    state->rover = NO_BLOCK;
}

/* Whether the tree has the list the other way round. */
static bool is_newest_last(struct policy policy)
{
    return policy.fit == FIT_FIRST && policy.order == ORDER_LIFO;
}

static bool make_tree(struct list_fit *state)
{
    uint64_t blocks = state->heap.counters.free_blocks;
    if (!block_list_reserve_for(&state->tree, blocks))
        return false;
    bool newest_last = is_newest_last(state->policy);
    uint32_t id = state->walk.front;
    if (newest_last && blocks > 0)
        id = state->heap.blocks[id].home;
    for (uint64_t i = 0; i < blocks; i++) {
        const struct block *block = &state->heap.blocks[id];
        uint32_t next = newest_last ? block->home : block->mark;
        block_list_insert(&state->tree, block_list_back(&state->tree), id, false);
        id = next;
    }
    state->rover = state->policy.fit == FIT_NEXT ? state->walk.front : NO_BLOCK;
    state->walk.front = NO_BLOCK;
    state->policy.walked = false;
    return true;
}

static void make_walk(struct list_fit *state)
{
    struct block_list *tree = &state->tree;
    bool newest_last = is_newest_last(state->policy);
    struct cursor at = block_list_first(tree, UINT64_C(1) << tree->granule);
    for (uint32_t i = 0; i < tree->blocks; i++) {
        uint32_t id = block_at(tree, at);
        at = block_list_locate(tree, block_list_following(tree, at));
        walked_list_insert(&state->walk, state->heap.blocks, id, newest_last);
    }
    if (state->policy.fit == FIT_NEXT)
        state->walk.front = state->rover;
    state->rover = NO_BLOCK;
    block_list_clear(tree);
    state->policy.walked = true;
}

/* Whether the list has been in the wrong form for so long that a change is worth its price. */
static bool is_behind(struct list_fit *state)
{
    const struct counters *counters = &state->heap.counters;
    int64_t fair = FAIR_VISITS * (int64_t)(counters->searches - state->searches);
    int64_t saved = fair - (int64_t)(counters->visited - state->visited);
    state->searches = counters->searches;
    state->visited = counters->visited;
    state->balance += state->policy.walked ? saved : -saved;
    if (state->balance > 0)
        state->balance = 0;
    return -state->balance > MOST_BEHIND + MOST_BEHIND_A_BLOCK * (int64_t)counters->free_blocks;
}

bool list_change_form(struct list_fit *state)
{
    state->balance = 0;
    if (state->policy.walked)
        return make_tree(state);
    if (state->policy.order != ORDER_ADDRESS)
        make_walk(state);
    return true;
}

bool list_settle(struct list_fit *state)
{
    bool behind = is_behind(state);
    uint64_t blocks = state->heap.counters.free_blocks;
    bool due = state->policy.walked ? behind || blocks > MOST_WALKED
                                    : behind && blocks <= MOST_WALKED / 2;
    return !due || list_change_form(state);
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
    return state->policy.walked ? check_walk(state) : check_tree(state);
}
