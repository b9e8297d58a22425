/* Where the blocks of glibc's malloc are kept: caches, the unsorted list, bins and the top. */
#ifndef SIMALLOC_PTMALLOC_LISTS_H
#define SIMALLOC_PTMALLOC_LISTS_H

#include "index/size/groups.h"
#include "parts/top.h"
#include "parts/unmerged.h"
#include "replay/replay.h"

enum { IS_UNSORTED = 1 };

struct ptmalloc {
    struct heap heap;
    struct groups bins;
    uint64_t growth;
    uint64_t top_pad;
    uint64_t trim;
    uint64_t map_from;
    uint64_t fast;
    uint64_t cache_lists;
    uint64_t cache_length;
    uint64_t small_below;
    uint64_t keep;        /* of the top, which is left at least */
    uint64_t tag;         /* bytes that a segment has besides */
    struct links links;
    struct unmerged thread_cache;
    struct unmerged fast_lists;
    struct chain unsorted; /* free blocks whose `family_data` is IS_UNSORTED */
    uint64_t last_remainder; /* an address */
    uint32_t top;            /* the free block at the break; or NO_BLOCK */
    bool started;
};

static inline uint64_t size_of(const struct ptmalloc *state, uint32_t id)
{
    return state->heap.blocks[id].size;
}

static inline bool is_small(const struct ptmalloc *state, uint64_t size)
{
    return size < state->small_below;
}

/* Whether two large sizes belong in one bin. */
static inline bool share_bin(const struct ptmalloc *state, uint64_t one, uint64_t other)
{
    const uint64_t ends[] = {state->heap.setting.word == 4 ? 2944 : 3136, 10752, 45056, 163840,
                             786432};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        if (one < ends[i] || other < ends[i])
            return one < ends[i] && other < ends[i] && one >> (6 + 3 * i) == other >> (6 + 3 * i);
    return true;
}

/* Takes the newest block of a size out of a cache; it is allocated then, and not counted. NO_BLOCK:
 * there is none. */
static inline uint32_t uncache(struct ptmalloc *state, struct unmerged *from, uint64_t size)
{
    return unmerged_take(&state->heap, &state->links, from, size);
}

static inline bool cache_has_room(const struct ptmalloc *state, uint64_t size)
{
    return unmerged_has_room(&state->thread_cache, size, state->cache_length);
}

/* Puts a block into the thread cache, if there is room for it. */
static inline bool put_in_cache(struct ptmalloc *state, uint32_t id)
{
    if (!cache_has_room(state, size_of(state, id)))
        return false;
    unmerged_put(&state->heap, &state->links, &state->thread_cache, id);
    return true;
}

static inline uint32_t use_whole(struct ptmalloc *state, uint32_t id)
{
    state->heap.counters.allocated += size_of(state, id);
    return id;
}

/* Takes a binned block out; it is allocated then, and not counted. */
static inline void leave_bin(struct ptmalloc *state, uint32_t id)
{
    bool small = is_small(state, size_of(state, id));
    groups_remove(&state->bins, id, small ? OLDEST_IS_HEAD : NEWEST_IS_HEAD);
    state->heap.blocks[id].family_data = 0;
}

static inline void leave_unsorted(struct ptmalloc *state, uint32_t id)
{
    chain_remove(&state->links, &state->unsorted, id);
    state->heap.blocks[id].family_data = 0;
    state->heap.blocks[id].index_slot = STATE_ALLOCATED;
    state->heap.counters.free_blocks--;
}

static inline void enter_unsorted(struct ptmalloc *state, uint32_t id)
{
    state->heap.blocks[id].family_data = IS_UNSORTED;
    state->heap.blocks[id].index_slot = STATE_FREE;
    state->heap.counters.free_blocks++;
    chain_push(&state->links, &state->unsorted, id);
}

static inline void set_top(struct ptmalloc *state, uint32_t id)
{
    state->heap.blocks[id].family_data = 0;
    role_give(&state->heap, &state->top, id);
}

static inline void take_out(struct heap *heap, uint32_t id)
{
    struct ptmalloc *state = (struct ptmalloc *)heap;
    const struct block *block = &heap->blocks[id];
    if (id == state->top) {
        role_end(heap, &state->top);
    } else if (block->index_slot == STATE_FREE && block->family_data == IS_UNSORTED) {
        leave_unsorted(state, id);
    } else {
        leave_bin(state, id);
    }
}

/* Merges a block, which is not counted as allocated, with what is free beside it. */
static inline uint32_t merge(struct ptmalloc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    coalesce(heap, id, take_out);
    if (heap_last(heap) == id)
        set_top(state, id);
    else
        enter_unsorted(state, id);
    return id;
}

/* Merges all blocks of the fast lists; returns whether there were any. */
static inline bool consolidate(struct ptmalloc *state)
{
    bool any = state->fast_lists.blocks > 0;
    for (uint64_t size = 0; state->fast_lists.blocks > 0; size++)
        for (uint32_t id; (id = uncache(state, &state->fast_lists, size)) != NO_BLOCK;)
            merge(state, id);
    return any;
}

#endif
