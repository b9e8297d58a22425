/* Which form of the list costs less. */
#include "index/list/fit_list.h"

/* How many visits take as long as a search of another form with what that costs besides, which is
 * more where it has to begin at a rover; a neighbour that is passed when a block enters by address
 * is a visit too. How far the form may be behind the other one, in visits and in visits for each
 * block; and how many blocks are walked at most, for a batch of long walks is soon over then. */
enum { FAIR_VISITS = 6, FAIR_FROM_ROVER = 10 };
enum { MOST_BEHIND = 1 << 12, MOST_BEHIND_A_BLOCK = 4, MOST_WALKED = 1 << 14 };

/* How many blocks a list has at most that stays flat. */
enum { MOST_FLAT = 192 };

static bool can_walk(struct list_rule rule)
{
    return rule.fit == FIT_NEXT || rule.order != ORDER_ADDRESS;
}

/* Whether a list of at most this many blocks may be flat for a batch of events. */
static bool may_be_flat(const struct list_fit *state, uint64_t most)
{
    const struct list_rule *rule = &state->rule;
    return rule->fit == FIT_FIRST && rule->order != ORDER_LIFO &&
           state->heap.counters.free_blocks <= most &&
           flat_list_fits(&state->flat, state->heap.brk, rule->order == ORDER_ADDRESS);
}

/* Whether a list of at most this many blocks may be kept by age. */
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

/* Whether a block may look for its place by going from neighbour to neighbour, if it has to. */
static bool may_pass(const struct list_fit *state)
{
    return state->rule.order != ORDER_ADDRESS || state->heap.used <= NEAR_BLOCKS;
}

/* Takes note of what the last batch has visited and passed; returns how many visits walking saves,
 * or would have saved. */
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

/* Whether the list has been in the wrong form for so long that a change is worth its price. */
static bool is_behind(struct list_fit *state)
{
    const struct counters *counters = &state->heap.counters;
    int64_t saved = draw_balance(state);
    state->balance += state->rule.form == FORM_WALK ? saved : -saved;
    if (state->balance > 0)
        state->balance = 0;
    return -state->balance > MOST_BEHIND + MOST_BEHIND_A_BLOCK * (int64_t)counters->free_blocks;
}

/* Whether the list should be walked, where there is such a form. */
static bool walks(struct list_fit *state)
{
    bool walked = state->rule.form == FORM_WALK;
    if (walked == is_behind(state) || !may_pass(state))
        return false;
    return state->heap.counters.free_blocks <= (walked ? MOST_WALKED : MOST_WALKED / 2);
}

enum form list_due_form(struct list_fit *state)
{
    enum form form = state->rule.form;
    if (state->held && list_may_be(state, form))
        return form;
    if (can_walk(state->rule) && walks(state))
        return FORM_WALK;
    if (may_be_flat(state, form == FORM_FLAT ? MOST_FLAT : MOST_FLAT / 2))
        return FORM_FLAT;
    return may_be_aged(state, form == FORM_AGED ? AGED_BLOCKS : AGED_BLOCKS / 2) ? FORM_AGED
                                                                                 : FORM_TREE;
}
