/* The thread cache of glibc's malloc.
 *
 * A block that leaves the cache is in state allocated, but is not counted as allocated. */
#ifndef SIMALLOC_PTMALLOC_CACHE_H
#define SIMALLOC_PTMALLOC_CACHE_H

#include "families/ptmalloc/ptmalloc.h"

/* Makes the thread's cache before an allocation, if the release makes it then. Returns false, with
 * the heap's failure set, if the cache cannot be made. */
ALWAYS_INLINE bool has_cache_to_allocate(struct ptmalloc *state)
{
    return LIKELY(state->cache != NULL) || state->version >= GLIBC_2_43 ||
           threads_make_cache(state);
}

static inline struct chain *cache_list(const struct ptmalloc *state, uint64_t size)
{
    if (LIKELY(size <= state->small_cached))
        return &state->cache->small[size];
    return &state->cache->large[63 - __builtin_clzll(size) - FIRST_LARGE_BITS];
}

/* Returns whether the thread has a cache with lists for a size. */
static inline bool cache_serves(const struct ptmalloc *state, uint64_t size)
{
    return LIKELY(size <= state->quick_max) || (state->cache != NULL && size <= state->tcache_max);
}

/* Returns whether the cache accepts another block of a size. */
static inline bool cache_has_room(const struct ptmalloc *state, uint64_t size)
{
    return cache_serves(state, size) && cache_list(state, size)->count < state->tcache_count;
}

/* Returns the first block of a large list with at least `size` bytes, or NO_BLOCK. */
static inline uint32_t find_large(const struct ptmalloc *state, const struct chain *list,
                                  uint64_t size)
{
    uint32_t id = list->oldest;
    while (id != NO_BLOCK && chunk_size(state, id) < size)
        id = state->tables.links.of[id].newer;
    return id;
}

static inline void count_cached(struct ptmalloc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    heap->blocks[id].index_slot = STATE_CACHED;
    heap->counters.cached_blocks++;
    heap_touch(heap, heap->blocks[id].address + 2 * state->word, 2 * state->word);
}

/* Puts a block into the thread's cache. The cache must accept it. */
static inline void cache_put(struct ptmalloc *state, uint32_t id)
{
    uint64_t size = chunk_size(state, id);
    struct chain *list = cache_list(state, size);
    if (LIKELY(size <= state->small_cached))
        chain_push(&state->tables.links, list, id);
    else
        chain_insert(&state->tables.links, list, id, find_large(state, list, size));
    count_cached(state, id);
}

static inline void cache_remove(struct ptmalloc *state, struct chain *list, uint32_t id)
{
    chain_remove(&state->tables.links, list, id);
    state->heap.blocks[id].index_slot = STATE_ALLOCATED;
    state->heap.counters.cached_blocks--;
}

/* Removes the newest block of a size from the thread's cache. Returns NO_BLOCK if the cache has no
 * such block. */
static inline uint32_t cache_take(struct ptmalloc *state, uint64_t size)
{
    if (!cache_serves(state, size))
        return NO_BLOCK;
    struct chain *list = cache_list(state, size);
    uint32_t id = size <= state->small_cached ? list->newest : find_large(state, list, size);
    if (id == NO_BLOCK || chunk_size(state, id) != size)
        return NO_BLOCK;
    cache_remove(state, list, id);
    return id;
}

/* Removes the newest block of a size among the blocks whose object is aligned to `alignment`.
 * Returns NO_BLOCK if the cache has no such block. */
static inline uint32_t cache_take_aligned(struct ptmalloc *state, uint64_t size,
                                          uint64_t alignment)
{
    if (!cache_serves(state, size))
        return NO_BLOCK;
    const struct block *blocks = state->heap.blocks;
    const struct link *links = state->tables.links.of;
    struct chain *list = cache_list(state, size);
    bool small = size <= state->small_cached;
    uint32_t id = small ? list->newest : find_large(state, list, size);
    while (id != NO_BLOCK && chunk_size(state, id) == size) {
        if ((blocks[id].address + 2 * state->word) % alignment == 0) {
            cache_remove(state, list, id);
            return id;
        }
        id = small ? links[id].older : links[id].newer;
    }
    return NO_BLOCK;
}

/* Removes the newest block of the smallest cached size. The search begins at `*from` and advances
 * it. Returns NO_BLOCK if the cache is empty. */
static inline uint32_t cache_drain(struct ptmalloc *state, struct cache *cache, uint64_t *from)
{
    for (; *from <= state->small_cached + LARGE_LISTS; ++*from) {
        bool small = *from <= state->small_cached;
        struct chain *list =
            small ? &cache->small[*from] : &cache->large[*from - state->small_cached - 1];
        if (list->count > 0) {
            uint32_t id = small ? list->newest : list->oldest;
            cache_remove(state, list, id);
            return id;
        }
    }
    return NO_BLOCK;
}

#endif
