/* List of free blocks for first fit and next fit, in its fastest form.
 *
 * Walking a list whose searches visit few blocks takes half the time of a tree. If searches visit
 * many blocks, the form depends on the fit and the order:
 *
 * - A short list of a first fit in FIFO or address order is flat.
 * - Any other list of a first fit in LIFO or FIFO order is an aged list.
 * - All remaining lists, and very long lists, are trees.
 *
 * Every form counts the visits of a walk. Before each batch of events, these visits are compared
 * with the cost of another form. The list starts or stops walking when the present form has lost as
 * much time as the change costs. First fit in address order is never walked, because a walk is
 * always slower.
 *
 * Each form is a file in forms/ with the functions insert, remove, change and search, and with pass
 * if next fit can use the form. The functions of this file dispatch to the form. */
#ifndef SIMALLOC_FIT_LIST_H
#define SIMALLOC_FIT_LIST_H

#include "index/list/forms/aged.h"
#include "index/list/forms/flat.h"
#include "index/list/forms/tree.h"
#include "index/list/forms/walk.h"

void list_init(struct list_fit *state, enum fit fit, enum order order);
void list_release(struct list_fit *state);
/* Changes the form if a change is due. Returns false if memory is exhausted. */
bool list_choose_form(struct list_fit *state);
/* Changes to the next possible form and keeps it. Returns false if memory is exhausted. */
bool list_change_form(struct list_fit *state);
/* list_may_be() returns whether the list can have a form for a batch of events. list_due_form()
 * returns the best form. */
bool list_may_be(const struct list_fit *state, enum form form);
enum form list_due_form(struct list_fit *state);
const char *list_check(const struct list_fit *state);

/* Calls a function of the form. The form is a compile-time constant. */
#define OF_FORM(rule, function, ...)                           \
    ((rule).form == FORM_WALK   ? walk_##function(__VA_ARGS__) \
     : (rule).form == FORM_FLAT ? flat_##function(__VA_ARGS__) \
     : (rule).form == FORM_AGED ? aged_##function(__VA_ARGS__) \
                                : tree_##function(__VA_ARGS__))

/* Inserts a block at its place in the order. */
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

/* Advances the rover from a block that is removed or merged. The rover of a single block stays. */
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

/* Updates the size and address of a block that keeps its place. */
ALWAYS_INLINE void list_change(struct list_fit *state, struct seat seat, enum change change,
                               struct list_rule rule)
{
    OF_FORM(rule, change, state, seat, change, rule);
}

/* Returns the block to use. Sets `visited` to the number of blocks that a walk along the list
 * visits. */
ALWAYS_INLINE struct seat list_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct list_rule rule)
{
    return OF_FORM(rule, search, state, size, visited, rule);
}

/* Starts the next search of next fit at this block, or after the block if it is removed. */
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
