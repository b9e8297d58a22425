/* The free blocks of an arena of glibc's malloc: the unsorted list, the bins and the top.
 *
 * A block that leaves a list is in state allocated, but is not counted as allocated. */
#ifndef SIMALLOC_PTMALLOC_LISTS_H
#define SIMALLOC_PTMALLOC_LISTS_H

#include "families/ptmalloc/ptmalloc.h"

static inline void take_from_bin(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    bool small = is_small(state, size_of(state, id));
    groups_remove(&arena->bins, id, small ? OLDEST_IS_HEAD : NEWEST_IS_HEAD);
    state->heap.blocks[id].family_data = arena->number;
}

static inline void enter_bin(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    state->heap.blocks[id].family_data = IN_NO_LIST;
    groups_insert(&arena->bins, id);
}

static inline void leave_unsorted(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    chain_remove(&state->tables.links, &arena->unsorted, id);
    state->heap.blocks[id].family_data = arena->number;
    state->heap.blocks[id].index_slot = STATE_ALLOCATED;
    state->heap.counters.free_blocks--;
}

static inline void enter_unsorted(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    state->heap.blocks[id].family_data = IS_UNSORTED;
    state->heap.blocks[id].index_slot = STATE_FREE;
    heap_count_free(&state->heap, id);
    chain_push(&state->tables.links, &arena->unsorted, id);
    write_links(state, id);
}

static inline void set_top(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    arena->top = id;
    state->heap.blocks[id].family_data = IN_NO_LIST;
    state->heap.blocks[id].index_slot = STATE_FREE;
    heap_count_free(&state->heap, id);
    write_head(state, id);
}

static inline uint32_t take_top(struct ptmalloc *state, struct arena *arena)
{
    uint32_t id = arena->top;
    arena->top = NO_BLOCK;
    state->heap.blocks[id].family_data = arena->number;
    state->heap.blocks[id].index_slot = STATE_ALLOCATED;
    state->heap.counters.free_blocks--;
    return id;
}

/* Removes a free block from the top, the unsorted list or its bin. */
static inline void take_out(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    const struct block *block = &state->heap.blocks[id];
    if (id == arena->top)
        take_top(state, arena);
    else if (block->index_slot == STATE_FREE && block->family_data == IS_UNSORTED)
        leave_unsorted(state, arena, id);
    else
        take_from_bin(state, arena, id);
}

/* Merges a block with its free neighbours. The block must not be counted as allocated. */
static inline void merge_neighbours(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    if (heap_is_free(heap, below)) {
        take_out(state, arena, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, above)) {
        take_out(state, arena, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
}

#endif
