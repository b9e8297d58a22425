/* Declarations shared by the parts of Vmalloc (policy/families/vmalloc.md). */
#ifndef SIMALLOC_VMALLOC_H
#define SIMALLOC_VMALLOC_H

#include "index/size/groups.h"
#include "replay/replay.h"

/* Upper bound of tiny sizes, for any header and any parameter. */
enum { MAX_TINY_SIZES = 1 << 21 };

/* `family_data` of a cached or free block. All other blocks have NOT_MARKED. */
enum { NOT_MARKED, IN_SLOT, IN_CACHE, IN_CATCH_ALL, IS_PENDING };

struct vmalloc {
    struct heap heap;
    struct groups tree;
    uint64_t growth;
    uint64_t page;
    uint64_t header;
    uint64_t tiny_below;  /* smaller blocks are tiny */
    struct links links;   /* links of all chains below */
    struct chain *caches; /* cached tiny blocks by size */
    struct chain *tiny;   /* free tiny blocks by size */
    struct chain catch_all;
    struct chain pending; /* free blocks that enter the tree when reclaiming ends */
    uint32_t slot;        /* the one cached large block, or NO_BLOCK */
    uint32_t wild;        /* free block at the break, which is used last, or NO_BLOCK */
    /* block that a realloc joins to its object after the block is merged, or NO_BLOCK */
    uint32_t wanted;
    uint64_t cached_tiny;
    uint64_t free_tiny;
};

/* blocks.c: reclaiming waiting blocks. */

/* Returns whether a block waits: it is cached and not merged. */
bool vmalloc_waits(const struct vmalloc *state, uint32_t id);

/* Moves the large block in the slot, if any, to the catch-all list. */
void vmalloc_empty_slot(struct vmalloc *state);

/* Frees the blocks on the catch-all list and in the caches of sizes down to `least`. Returns
 * whether any block was freed. */
bool vmalloc_reclaim(struct vmalloc *state, uint64_t least);

ALWAYS_INLINE uint64_t size_of(const struct vmalloc *state, uint32_t id)
{
    return state->heap.blocks[id].size;
}

ALWAYS_INLINE bool is_tiny(const struct vmalloc *state, uint64_t size)
{
    return size < state->tiny_below;
}

/* Puts a block on a chain, or in the slot if the chain is NULL, as a cached block. The caller has
 * not counted it as allocated. */
ALWAYS_INLINE void wait_on(struct vmalloc *state, struct chain *chain, uint32_t id, uint32_t mark)
{
    state->heap.blocks[id].index_slot = STATE_CACHED;
    state->heap.blocks[id].family_data = mark;
    state->heap.counters.cached_blocks++;
    state->cached_tiny += mark == IN_CACHE;
    if (chain == NULL)
        state->slot = id;
    else
        chain_push(&state->links, chain, id);
}

/* Removes a waiting block from its chain or the slot. The block is then in state allocated, but is
 * not counted as allocated. */
ALWAYS_INLINE void wait_no_more(struct vmalloc *state, uint32_t id)
{
    struct block *block = &state->heap.blocks[id];
    if (block->family_data == IN_SLOT)
        state->slot = NO_BLOCK;
    else if (block->family_data == IN_CATCH_ALL)
        chain_remove(&state->links, &state->catch_all, id);
    else
        chain_remove(&state->links, &state->caches[block->size], id);
    state->cached_tiny -= block->family_data == IN_CACHE;
    state->heap.counters.cached_blocks--;
    block->index_slot = STATE_ALLOCATED;
    block->family_data = NOT_MARKED;
}

/* Removes a free block from its structure. The block is then in state allocated, but is not counted
 * as allocated. */
ALWAYS_INLINE void take_out(struct vmalloc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    struct block *block = &heap->blocks[id];
    bool tiny = is_tiny(state, block->size);
    if (id != state->wild && !tiny &&
        !(block->index_slot == STATE_FREE && block->family_data == IS_PENDING)) {
        groups_remove(&state->tree, id, NEWEST_IS_HEAD);
        heap->blocks[id].family_data = NOT_MARKED;
        return;
    }
    if (id == state->wild) {
        state->wild = NO_BLOCK;
    } else if (tiny) {
        chain_remove(&state->links, &state->tiny[block->size], id);
        state->free_tiny--;
    } else {
        chain_remove(&state->links, &state->pending, id);
    }
    heap->counters.free_blocks--;
    block->index_slot = STATE_ALLOCATED;
    block->family_data = NOT_MARKED;
}

#endif
