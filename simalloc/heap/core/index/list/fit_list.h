/* The list of a first or next fit, in its cheapest form.
 *
 * Where searches visit few blocks the list is walked, in half the time of a tree. Where they visit
 * many, the list of a first fit is flat while it is short, unless it is LIFO; a long list is kept
 * by age if that is its order. Otherwise, or if the list is very long, it is a tree. All forms know
 * the visits of a walk. Before each batch of events the visits are compared with the cost of
 * another form, and walking starts or stops when the present form has lost as much time as the
 * change costs. First fit in address order is never walked, because a walk is always slower there.
 *
 * Each form is a file in forms/ with functions of the same names: insert, remove, change and
 * search, and pass if next fit can have the form. The functions here are for callers and dispatch
 * to the form. */
#ifndef SIMALLOC_FIT_LIST_H
#define SIMALLOC_FIT_LIST_H

#include "index/list/forms/aged.h"
#include "index/list/forms/flat.h"
#include "index/list/forms/tree.h"
#include "index/list/forms/walk.h"

void list_init(struct list_fit *state, enum fit fit, enum order order);
void list_release(struct list_fit *state);
/* Changes the form if that is due; false when memory is exhausted. */
bool list_choose_form(struct list_fit *state);
/* Goes on to the next form that is possible, and keeps to it; false when memory is exhausted. */
bool list_change_form(struct list_fit *state);
/* list_may_be() returns whether the list can have a form for a batch of events; list_choice()
 * returns the best form. */
bool list_may_be(const struct list_fit *state, enum form form);
enum form list_due_form(struct list_fit *state);
const char *list_check(const struct list_fit *state);

/* Calls a function of the form; which one is known when the code is compiled. */
#define OF_FORM(rule, function, ...)                           \
    ((rule).form == FORM_WALK   ? walk_##function(__VA_ARGS__) \
     : (rule).form == FORM_FLAT ? flat_##function(__VA_ARGS__) \
     : (rule).form == FORM_AGED ? aged_##function(__VA_ARGS__) \
                                : tree_##function(__VA_ARGS__))

/* Puts a block where the order wants it. */
ALWAYS_INLINE void list_insert(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    OF_FORM(rule, insert, state, id, rule);
}

ALWAYS_INLINE struct seat list_seat(const struct list_fit *state, uint32_t id,
                                    struct list_rule rule)
{
    return (struct seat){
        id, rule.form == FORM_TREE ? block_list_locate(state->heap.blocks, id) : NOWHERE};
}

ALWAYS_INLINE uint64_t list_size(const struct list_fit *state, struct seat seat,
                                 struct list_rule rule)
{
    return rule.form == FORM_TREE ? block_list_size_at(&state->tree, state->heap.blocks, seat.at)
                                  : state->heap.blocks[seat.block].size;
}

/* Moves the rover on from a block that leaves or is merged; from the only one to itself. */
ALWAYS_INLINE void list_pass(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    if (rule.fit != FIT_NEXT)
        return;
    if (rule.form == FORM_WALK)
        walk_pass(state, seat);
    else
        tree_pass(state, seat);
}

ALWAYS_INLINE void list_remove(struct list_fit *state, struct seat seat, struct list_rule rule)
{
    OF_FORM(rule, remove, state, seat, rule);
}

/* Notes that a block has another size or address and the same place. */
ALWAYS_INLINE void list_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    OF_FORM(rule, change, state, seat, change, rule);
}

/* Finds the block to use, and how many a walk along the list visits on the way. */
ALWAYS_INLINE struct seat list_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    return OF_FORM(rule, search, state, size, visited, rule);
}

/* Next fit: the next search starts at this block, or behind it if it leaves. */
ALWAYS_INLINE void list_rove(struct list_fit *state, uint32_t id, struct list_rule rule)
{
    if (rule.fit != FIT_NEXT)
        return;
    if (rule.form == FORM_WALK)
        state->walk.front = id;
    else
        state->rover = id;
}

#endif
