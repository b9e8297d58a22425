/* Vmalloc's blocks (policy/families/vmalloc.md): waiting blocks, free blocks, and the reclaiming
 * that turns waiting blocks into free ones. */
#include "families/vmalloc/vmalloc.h"

bool vmalloc_waits(const struct vmalloc *state, uint32_t id)
{
    const struct block *block = &state->heap.blocks[id];
    return block->index_slot == STATE_CACHED && block->family_data != NOT_MARKED;
}

void vmalloc_empty_slot(struct vmalloc *state)
{
    uint32_t id = state->slot;
    if (id == NO_BLOCK)
        return;
    state->slot = NO_BLOCK;
    state->heap.blocks[id].family_data = IN_CATCH_ALL;
    chain_push(&state->links, &state->catch_all, id);
}

/* Frees and merges a block that no longer waits. Returns the smallest size whose cache must still
 * be emptied. The block `wanted` enters no structure, because a realloc joins it to its object. */
ALWAYS_INLINE uint64_t free_merged(struct vmalloc *state, uint32_t id, uint64_t smallest)
{
    struct heap *heap = &state->heap;
    uint32_t below = heap->blocks[id].previous;
    if (heap_is_free(heap, below)) {
        take_out(state, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    for (;;) {
        uint32_t above = heap->blocks[id].next;
        if (vmalloc_waits(state, above)) {
            if (size_of(state, above) < smallest)
                smallest = size_of(state, above);
            wait_no_more(state, above);
        } else if (heap_is_free(heap, above)) {
            take_out(state, above);
        } else {
            break;
        }
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (id == state->wanted)
        return smallest;
    heap_count_free(heap, id);
    struct block *block = &heap->blocks[id];
    block->index_slot = STATE_FREE;
    block->family_data = NOT_MARKED;
    if (heap_last(heap) == id) {
        state->wild = id;
    } else if (is_tiny(state, block->size)) {
        chain_push(&state->links, &state->tiny[block->size], id);
        state->free_tiny++;
    } else {
        block->family_data = IS_PENDING;
        chain_push(&state->links, &state->pending, id);
    }
    return smallest;
}

/* Frees all blocks that wait on a chain, the newest first. */
ALWAYS_INLINE uint64_t reclaim_chain(struct vmalloc *state, const struct chain *chain,
                                     uint64_t smallest, bool *any)
{
    while (chain->newest != NO_BLOCK) {
        uint32_t id = chain->newest;
        *any = true;
        wait_no_more(state, id);
        smallest = free_merged(state, id, smallest);
    }
    return smallest;
}

bool vmalloc_reclaim(struct vmalloc *state, uint64_t smallest)
{
    struct heap *heap = &state->heap;
    bool any = false;
    vmalloc_empty_slot(state);
    smallest = reclaim_chain(state, &state->catch_all, smallest, &any);
    for (uint64_t size = state->tiny_below; size > smallest && state->cached_tiny > 0; size--)
        smallest = reclaim_chain(state, &state->caches[size - 1], smallest, &any);
    for (;;) {
        uint32_t id = chain_pop_newest(&state->links, &state->pending);
        if (id == NO_BLOCK)
            return any;
        heap->blocks[id].family_data = NOT_MARKED;
        heap->counters.free_blocks--; /* groups_insert() counts it again */
        groups_insert(&state->tree, id);
    }
}
