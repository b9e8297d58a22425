/* The choice of the cheapest form of a list. */
#include "index/list/fit_list.h"

/* FAIR_VISITS and FAIR_FROM_ROVER are the numbers of visits that take as long as a search of
 * another form, including its upkeep. A neighbour that is passed when a block enters by address
 * counts as a visit. MAX_BEHIND and MAX_BEHIND_A_BLOCK are the visits, and the visits per block,
 * that a form may lose before it changes. MAX_WALKED is the maximum length of a walked list: a long
 * walk is stopped only at the end of a batch. */
enum { FAIR_VISITS = 6, FAIR_FROM_ROVER = 10 };
enum { MAX_BEHIND = 1 << 12, MAX_BEHIND_A_BLOCK = 4, MAX_WALKED = 1 << 14 };

/* Maximum number of blocks of a flat list. */
enum { MAX_FLAT = 192 };

static bool can_walk(struct list_rule rule)
{
    return rule.fit == FIT_NEXT || rule.order != ORDER_ADDRESS;
}

/* Returns whether a list of up to `most` blocks can be flat for a batch of events. */
static bool may_be_flat(const struct list_fit *state, uint64_t most)
{
    const struct list_rule *rule = &state->rule;
    return rule->fit == FIT_FIRST && rule->order != ORDER_LIFO &&
           state->heap.counters.free_blocks <= most &&
           flat_list_fits(&state->flat, state->heap.brk, rule->order == ORDER_ADDRESS);
}

/* Returns whether a list of up to `most` blocks can be kept by age. */
static bool may_be_aged(const struct list_fit *state, uint64_t most)
{
    const struct list_rule *rule = &state->rule;
    return rule->fit == FIT_FIRST && rule->order != ORDER_ADDRESS &&
           state->heap.counters.free_blocks <= most;
}

bool list_may_be(const struct list_fit *state, enum form form)
{
    switch (form) {
    case FORM_FLAT:
        return may_be_flat(state, FLAT_BLOCKS);
    case FORM_AGED:
        return may_be_aged(state, AGED_BLOCKS);
    case FORM_WALK:
        return can_walk(state->rule);
    default:
        return true;
    }
}

/* Returns whether a block may find its place in address order by passing neighbours. */
static bool may_pass(const struct list_fit *state)
{
    return state->rule.order != ORDER_ADDRESS || state->heap.used <= NEAR_BLOCKS;
}

/* Records the visits and passed neighbours of the last batch. Returns the number of visits that
 * walking saves, or would have saved. */
static int64_t draw_balance(struct list_fit *state)
{
    const struct counters *counters = &state->heap.counters;
    state->passed = state->rule.form == FORM_WALK
                        ? state->walk.passed
                        : state->passed - (state->passed + 1023) / 1024;
    state->walk.passed = 0;
    uint64_t visited = counters->visited - state->visited;
    uint64_t searches = counters->searches - state->searches;
    state->searches = counters->searches;
    state->visited = counters->visited;
    uint64_t fair = state->rule.fit == FIT_NEXT ? FAIR_FROM_ROVER : FAIR_VISITS;
    return (int64_t)(fair * searches) - (int64_t)(visited + state->passed);
}

/* Returns whether the present form has lost as much time as a change costs. */
static bool is_behind(struct list_fit *state)
{
    const struct counters *counters = &state->heap.counters;
    int64_t saved = draw_balance(state);
    state->balance += state->rule.form == FORM_WALK ? saved : -saved;
    if (state->balance > 0)
        state->balance = 0;
    return -state->balance > MAX_BEHIND + MAX_BEHIND_A_BLOCK * (int64_t)counters->free_blocks;
}

/* Returns whether the list should be walked, if it can be walked. */
static bool walks(struct list_fit *state)
{
    bool walked = state->rule.form == FORM_WALK;
    if (walked == is_behind(state) || !may_pass(state))
        return false;
    return state->heap.counters.free_blocks <= (walked ? MAX_WALKED : MAX_WALKED / 2);
}

enum form list_due_form(struct list_fit *state)
{
    enum form form = state->rule.form;
    if (state->held && list_may_be(state, form))
        return form;
    if (can_walk(state->rule) && walks(state))
        return FORM_WALK;
    if (may_be_flat(state, form == FORM_FLAT ? MAX_FLAT : MAX_FLAT / 2))
        return FORM_FLAT;
    return may_be_aged(state, form == FORM_AGED ? AGED_BLOCKS : AGED_BLOCKS / 2) ? FORM_AGED
                                                                                 : FORM_TREE;
}
