/* The list of a first or next fit, in the form that costs less.
 *
 * Where searches visit few blocks the list is walked: half the time of a tree. Where they visit
 * many, it is flat while it is short; when it is long, first fit keeps it by age if that is its
 * order, and next fit in a ring of slots if it is not LIFO. Otherwise, or when it is very long, it
 * is in a tree. All forms know how many a walk visits; before each batch of events that is held
 * against what another form is worth, and whether the list is walked changes when that has been
 * wrong for as long as the change itself takes.
 *
 * Not all there could be is there: first fit in address order is not walked, and next fit and LIFO
 * lists are not flat. */
#ifndef SIMALLOC_LIST_FIT_H
#define SIMALLOC_LIST_FIT_H

#include "index/list/aged_list.h"
#include "index/list/block_list_edit.h"
#include "index/list/flat_list.h"
#include "index/order.h"
#include "index/list/ring_list.h"
#include "index/list/walked_list.h"

enum form { FORM_TREE, FORM_FLAT, FORM_AGED, FORM_RING, FORM_WALK, FORMS };

/* Known when the code is compiled, so that only its own branches are left. */
struct policy {
    enum fit fit;
    enum order order;
    enum form form; /* of the list */
};

struct list_fit {
    struct heap heap;
    struct policy policy;
    bool held;       /* a form has been asked for, and is kept while that is possible */
    int64_t balance; /* visits saved by walking, or by not walking, as it is done; at most 0 */
    uint64_t searches, visited; /* of all so far, when the balance was last drawn */
    uint64_t usual;  /* visits of a batch: a mean that forgets */
    uint64_t passed; /* neighbours, in the last batch as a walk or a ring; forgotten bit by bit */
    uint32_t no_ring; /* batches for which it is no ring, since too many were passed */
    struct walked_list walk; /* of next fit: the front is the rover */
    struct block_list tree;  /* but first fit LIFO the other way round, so that the newest block
                                comes last and enters without moving others */
    uint32_t rover; /* next fit in a tree or a ring: where the next search starts; NO_BLOCK if it
                       is empty */
    struct flat_list flat;
    struct aged_list *aged; /* NULL: the list has never had this form */
    struct ring_list *ring; /* the same */
};

void list_init(struct list_fit *state, enum fit fit, enum order order);
void list_release(struct list_fit *state);
/* Changes the form if that is due; false when memory is exhausted. */
bool list_settle(struct list_fit *state);
/* Goes on to the next form that is possible, and keeps to it; false when memory is exhausted. */
bool list_change_form(struct list_fit *state);
/* Whether the list may have a form for a batch of events, and which one it should have. */
bool list_may_be(const struct list_fit *state, enum form form);
enum form list_due_form(struct list_fit *state);
const char *list_check(const struct list_fit *state);

ALWAYS_INLINE struct cursor place_to_enter(const struct list_fit *state, uint64_t address,
                                           struct policy policy)
{
    if (policy.order == ORDER_ADDRESS)
        return block_list_position(&state->tree, address);
    if (policy.fit == FIT_NEXT && state->rover != NO_BLOCK)
        return block_list_locate(state->heap.blocks, state->rover);
    return block_list_back(&state->tree);
}

/* Puts a block into a ring: behind the free one below it or before the one above it, or before the
 * rover. */
ALWAYS_INLINE void enter_ring(struct list_fit *state, uint32_t id, struct policy policy)
{
    struct block *blocks = state->heap.blocks;
    if (UNLIKELY(state->rover == NO_BLOCK)) {
        ring_list_start(state->ring, blocks, id);
        state->rover = id;
        return;
    }
    if (policy.order != ORDER_ADDRESS) {
        ring_list_insert(state->ring, blocks, id, state->rover, false);
        return;
    }
    struct near near = nearest_free(blocks, id, &state->walk.passed);
    ring_list_insert(state->ring, blocks, id, near.block, near.below);
}

ALWAYS_INLINE void list_insert(struct list_fit *state, uint32_t id, struct policy policy)
{
    struct block *blocks = state->heap.blocks;
    bool ordered = policy.order == ORDER_ADDRESS;
    if (policy.form == FORM_WALK) {
        if (ordered)
            walked_list_insert_by_address(&state->walk, blocks, id);
        else
            block_ring_insert(&state->walk.front, blocks, id, policy.order == ORDER_LIFO);
        return;
    }
    if (policy.form == FORM_FLAT) {
        flat_list_insert(&state->flat, blocks, id, ordered);
        return;
    }
    if (policy.form == FORM_AGED) {
        aged_list_insert(state->aged, blocks, id);
        return;
    }
    if (policy.form == FORM_RING) {
        enter_ring(state, id, policy);
        return;
    }
    struct cursor at = place_to_enter(state, blocks[id].address, policy);
    block_list_insert(&state->tree, blocks, at, id, ordered);
    if (policy.fit == FIT_NEXT && (policy.order == ORDER_LIFO || state->rover == NO_BLOCK))
        state->rover = id;
}

/* A block of the list, and where the tree has it. */
struct seat {
    uint32_t block;   /* or NO_BLOCK */
    struct cursor at; /* of other lists: nowhere */
};

ALWAYS_INLINE struct seat list_seat(const struct list_fit *state, uint32_t id, struct policy policy)
{
    return (struct seat){
        id, policy.form == FORM_TREE ? block_list_locate(state->heap.blocks, id) : NOWHERE};
}

ALWAYS_INLINE uint64_t list_size(const struct list_fit *state, struct seat seat,
                                 struct policy policy)
{
    return policy.form == FORM_TREE ? block_list_size_at(&state->tree, state->heap.blocks, seat.at)
                                    : state->heap.blocks[seat.block].size;
}

/* Moves the rover on from a block that leaves or is merged; from the only one to itself. */
ALWAYS_INLINE void list_pass(struct list_fit *state, struct seat seat, struct policy policy)
{
    if (policy.fit != FIT_NEXT)
        return;
    if (policy.form == FORM_WALK) {
        if (state->walk.front == seat.block)
            state->walk.front = state->heap.blocks[seat.block].mark;
    } else if (policy.form == FORM_RING) {
        if (state->rover == seat.block)
            state->rover = ring_list_following(state->ring, state->heap.blocks, seat.block);
    } else if (state->rover == seat.block) {
        state->rover = block_list_following(&state->tree, seat.at);
    }
}

ALWAYS_INLINE void list_remove(struct list_fit *state, struct seat seat, struct policy policy)
{
    if (policy.form == FORM_WALK) {
        block_ring_remove(&state->walk.front, state->heap.blocks, seat.block);
        return;
    }
    if (policy.form == FORM_FLAT) {
        flat_list_remove(&state->flat, state->heap.blocks, seat.block);
        return;
    }
    if (policy.form == FORM_AGED) {
        aged_list_remove(state->aged, state->heap.blocks, seat.block);
        return;
    }
    list_pass(state, seat, policy);
    if (policy.form == FORM_RING) {
        ring_list_remove(state->ring, state->heap.blocks, seat.block);
        if (state->rover == seat.block)
            state->rover = NO_BLOCK;
        return;
    }
    block_list_remove(&state->tree, state->heap.blocks, seat.at);
    if (policy.fit == FIT_NEXT && state->tree.blocks == 0)
        state->rover = NO_BLOCK;
}

/* Notes that a block has another size or address and the same place. */
ALWAYS_INLINE void list_change(struct list_fit *state, struct seat seat, enum change change,
                               struct policy policy)
{
    const struct block *block = &state->heap.blocks[seat.block];
    bool ordered = policy.order == ORDER_ADDRESS;
    if (policy.form == FORM_TREE)
        block_list_change(&state->tree, seat.at, block, change, ordered);
    else if (policy.form == FORM_FLAT)
        flat_list_change(&state->flat, block, block->home, ordered);
    else if (policy.form == FORM_AGED)
        aged_list_change(state->aged, block);
    else if (policy.form == FORM_RING)
        ring_list_change(state->ring, block);
}

/* Searches the tree and counts what a walk along the list would have visited. */
ALWAYS_INLINE struct cursor search_tree(struct list_fit *state, uint64_t size, uint64_t *visited,
                                        struct policy policy)
{
    struct block_list *tree = &state->tree;
    struct cursor start = NOWHERE;
    struct cursor at;
    if (policy.fit == FIT_NEXT && state->rover != NO_BLOCK) {
        start = block_list_locate(state->heap.blocks, state->rover);
        at = block_list_first_around(tree, start, size);
    } else if (policy.fit == FIT_FIRST && policy.order == ORDER_LIFO) {
        at = block_list_last(tree, size);
    } else {
        at = block_list_first(tree, size);
    }
    if (!found(at))
        *visited = tree->blocks;
    else if (policy.fit == FIT_NEXT)
        *visited = block_list_distance(tree, start, at) + 1;
    else if (policy.order == ORDER_LIFO)
        *visited = tree->blocks - block_list_rank(tree, at);
    else
        *visited = block_list_rank(tree, at) + 1;
    return at;
}

/* Finds the block to use, and how many a walk along the list visits on the way. */
ALWAYS_INLINE struct seat list_search(struct list_fit *state, uint64_t size, uint64_t *visited,
                                      struct policy policy)
{
    struct seat seat = {NO_BLOCK, NOWHERE};
    if (policy.form == FORM_WALK) {
        seat.block = walked_list_first(&state->walk, state->heap.blocks, size, visited);
    } else if (policy.form == FORM_FLAT) {
        uint32_t slot = flat_list_first(&state->flat, &state->heap, size,
                                        policy.order == ORDER_ADDRESS, visited);
        if (slot != FLAT_NOWHERE)
            seat.block = state->flat.block[slot];
    } else if (policy.form == FORM_AGED) {
        seat.block = aged_list_first(state->aged, &state->heap, size,
                                     policy.order == ORDER_LIFO, visited);
    } else if (policy.form == FORM_RING) {
        *visited = 0;
        if (state->rover != NO_BLOCK)
            seat.block = ring_list_first(state->ring, state->heap.blocks, state->rover, size,
                                         visited);
    } else {
        seat.at = search_tree(state, size, visited, policy);
        if (found(seat.at))
            seat.block = block_at(&state->tree, seat.at);
    }
    return seat;
}

/* Next fit: the next search starts at this block, or behind it if it leaves. */
ALWAYS_INLINE void list_rove(struct list_fit *state, uint32_t id, struct policy policy)
{
    if (policy.fit != FIT_NEXT)
        return;
    if (policy.form == FORM_WALK)
        state->walk.front = id;
    else
        state->rover = id;
}

#endif
