/* How an arena of jemalloc gets pages, and gives them back. */
#ifndef SIMALLOC_JEMALLOC_PAGES_H
#define SIMALLOC_JEMALLOC_PAGES_H

#include "families/jemalloc/decay.h"
#include "families/jemalloc/space.h"

#define NO_LIMIT UINT64_MAX

/* Merges an extent with the neighbour above or else below, if either lies in the cache and the sum
 * is at most `most` bytes. Returns the extent then, NO_EXTENT if there was none. */
static inline uint32_t merge_one(struct jemalloc *state, struct arena *arena,
                                 struct extent_cache *cache, uint32_t number, uint64_t most)
{
    const struct extent *extent = extent_at(state, number);
    const uint32_t neighbours[] = {extent->above, extent->below};
    for (unsigned i = 0; i < 2; i++) {
        const struct extent *other = extent_at(state, neighbours[i]);
        if (neighbours[i] == NO_EXTENT || other->use != cache->use ||
            extent->size + other->size > most)
            continue;
        cache_remove(state, cache, neighbours[i]);
        uint32_t low = i == 0 ? number : neighbours[i];
        merge_extents(state, arena, low);
        return low;
    }
    return NO_EXTENT;
}

/* Merges an extent with neighbours in the cache until there are none. */
static inline uint32_t merge_all(struct jemalloc *state, struct arena *arena,
                                 struct extent_cache *cache, uint32_t number, uint64_t most)
{
    for (uint32_t merged = number; merged != NO_EXTENT;) {
        number = merged;
        merged = merge_one(state, arena, cache, number, most);
    }
    return number;
}

/* Gives an extent's pages back to the system and keeps its addresses, if any are kept. */
static inline void retain_extent(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    extent_at(state, number)->is_zero = true;
    set_state(state, number, STATE_HOLE);
    if (!state->retain) {
        forget_extent(state, arena, number);
        return;
    }
    number = merge_all(state, arena, &arena->retained, number, NO_LIMIT);
    cache_insert(state, &arena->retained, number);
}

/* Takes the oldest extents out of a cache until `limit` pages are left or `most` are taken, and
 * chains them by `newer`; dirty ones merge once with a neighbour and become the newest first.
 * Returns the first. */
static inline uint32_t take_oldest(struct jemalloc *state, struct arena *arena,
                                   struct extent_cache *cache, uint64_t limit, uint64_t most)
{
    uint32_t first = NO_EXTENT;
    uint32_t last = NO_EXTENT;
    uint64_t taken = 0;
    while (taken < most && cache->pages > limit) {
        uint32_t number = cache->oldest;
        cache_remove(state, cache, number);
        uint32_t merged = cache->use == DIRTY ? merge_one(state, arena, cache, number, NO_LIMIT)
                                              : NO_EXTENT;
        if (merged != NO_EXTENT) {
            cache_insert(state, cache, merged);
            continue;
        }
        extent_at(state, number)->newer = NO_EXTENT;
        if (first == NO_EXTENT)
            first = number;
        else
            extent_at(state, last)->newer = number;
        last = number;
        taken += extent_at(state, number)->size / PAGE;
    }
    return first;
}

/* Purges the oldest extents of a cache; `lazily`, dirty pages become muzzy if any do. */
static inline void evict(struct jemalloc *state, struct arena *arena, struct extent_cache *cache,
                         uint64_t limit, uint64_t most, bool lazily)
{
    bool to_muzzy = lazily && cache->use == DIRTY && arena->muzzy_decay.milliseconds != 0;
    uint32_t number = take_oldest(state, arena, cache, limit, most);
    while (number != NO_EXTENT) {
        uint32_t next = extent_at(state, number)->newer;
        if (to_muzzy) {
            number = merge_all(state, arena, &arena->muzzy, number, NO_LIMIT);
            cache_insert(state, &arena->muzzy, number);
        } else {
            retain_extent(state, arena, number);
        }
        number = next;
    }
}

/* Purges all dirty and muzzy pages of an arena. */
static inline void purge_all(struct jemalloc *state, struct arena *arena)
{
    evict(state, arena, &arena->dirty, 0, arena->dirty.pages, false);
    evict(state, arena, &arena->muzzy, 0, arena->muzzy.pages, false);
}

static inline void look_at(struct jemalloc *state, struct arena *arena, struct extent_cache *cache,
                           struct decay *decay)
{
    uint64_t pages = cache->pages;
    if (decay->milliseconds == 0)
        evict(state, arena, cache, 0, pages, true);
    else if (decay->milliseconds > 0 && decay_advance(state, decay, pages) &&
             pages > decay->limit)
        evict(state, arena, cache, decay->limit, pages - decay->limit, true);
}

/* Purges what is due by the clock. */
static inline void look(struct jemalloc *state, struct arena *arena)
{
    look_at(state, arena, &arena->dirty, &arena->dirty_decay);
    look_at(state, arena, &arena->muzzy, &arena->muzzy_decay);
}

/* Makes an active extent, which is one block, dirty; a large one merges first. */
static inline void make_dirty(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    struct extent *extent = extent_at(state, number);
    extent->is_zero = false;
    set_state(state, number, STATE_FREE);
    if (extent->size < SMALLEST_LARGE) {
        cache_insert(state, &arena->dirty, number);
        return;
    }
    uint64_t most = NO_LIMIT;
    if (state->version == V5_3_1 && extent->size <= NO_LIMIT >> state->lg_extent_max_active_fit)
        most = extent->size << state->lg_extent_max_active_fit;
    number = merge_all(state, arena, &arena->dirty, number, most);
    bool never = arena->dirty_decay.milliseconds < 0 || arena->muzzy_decay.milliseconds < 0;
    if (extent_at(state, number)->size >= arena->eager_from && !never && !state->background_thread)
        retain_extent(state, arena, number);
    else
        cache_insert(state, &arena->dirty, number);
}

/* Frees an active extent, which is one block; without a decay time all that is dirty goes. */
static inline void free_pages(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    make_dirty(state, arena, number);
    if (arena->dirty_decay.milliseconds == 0)
        evict(state, arena, &arena->dirty, 0, arena->dirty.pages, false);
}

/* Cuts `size` bytes at a multiple of `alignment` out of an active extent, and returns it; puts what
 * lies in front and behind into `rests`, which may be NO_EXTENT. */
static inline uint32_t cut_out(struct jemalloc *state, struct arena *arena, uint32_t number,
                               uint64_t size, uint64_t alignment, uint32_t rests[2])
{
    rests[0] = rests[1] = NO_EXTENT;
    const struct extent *extent = extent_at(state, number);
    uint64_t lead = aligned_address(state, extent, alignment) - extent->address;
    if (lead > 0) {
        rests[0] = number;
        number = split_extent(state, arena, number, lead);
    }
    if (extent_at(state, number)->size > size)
        rests[1] = split_extent(state, arena, number, size);
    return number;
}

/* Takes `size` bytes out of a cached extent; what is over stays in the cache. */
static inline uint32_t take_out(struct jemalloc *state, struct arena *arena,
                                struct extent_cache *cache, uint32_t number, uint64_t size,
                                uint64_t alignment)
{
    uint32_t rests[2];
    cache_remove(state, cache, number);
    number = cut_out(state, arena, number, size, alignment, rests);
    for (unsigned i = 0; i < 2; i++)
        if (rests[i] != NO_EXTENT)
            cache_insert(state, cache, rests[i]);
    return number;
}

/* Maps the next of the growing sizes that is enough; the rest is retained. */
static inline uint32_t grow(struct jemalloc *state, struct arena *arena, uint64_t size,
                            uint64_t alignment)
{
    if (!state->retain)
        return map_extent(state, arena, size, alignment);
    uint64_t least = size + (alignment > PAGE ? alignment - PAGE : 0);
    uint64_t mapped = arena->next_mapping;
    while (mapped < least)
        mapped = class_above(mapped + 1, PAGE);
    arena->next_mapping = class_above(mapped + 1, PAGE);
    uint32_t number = map_extent(state, arena, mapped, PAGE);
    if (number == NO_EXTENT)
        return NO_EXTENT;
    uint32_t rests[2];
    number = cut_out(state, arena, number, size, alignment, rests);
    for (unsigned i = 0; i < 2; i++)
        if (rests[i] != NO_EXTENT)
            retain_extent(state, arena, rests[i]);
    return number;
}

/* Returns an active extent of `size` bytes at a multiple of `alignment`, which is one block, waste;
 * NO_EXTENT if the capacity does not allow that, or with the heap's failure set if memory or
 * addresses are exhausted. */
static inline uint32_t allocate_pages(struct jemalloc *state, struct arena *arena, uint64_t size,
                                      uint64_t alignment)
{
    if (!reserve_extents(state))
        return NO_EXTENT;
    struct extent_cache *mapped[] = {&arena->dirty, &arena->muzzy};
    unsigned count = arena->muzzy_decay.milliseconds != 0 ? 2 : 1;
    uint32_t number = NO_EXTENT;
    for (unsigned i = 0; i < count && number == NO_EXTENT; i++) {
        number = cache_find(state, mapped[i], size, alignment);
        if (number != NO_EXTENT)
            number = take_out(state, arena, mapped[i], number, size, alignment);
    }
    if (number == NO_EXTENT) {
        uint64_t batch = batched_size(state, size);
        if (!heap_has_room(&state->heap, batch)) {
            heap_refuse(&state->heap);
            return NO_EXTENT;
        }
        number = cache_find(state, &arena->retained, batch, alignment);
        if (number != NO_EXTENT)
            number = take_out(state, arena, &arena->retained, number, batch, alignment);
        else
            number = grow(state, arena, batch, alignment);
        if (number != NO_EXTENT && batch > size)
            make_dirty(state, arena, split_extent(state, arena, number, size));
    }
    if (number != NO_EXTENT)
        set_state(state, number, STATE_WASTE);
    return number;
}

/* Adds the `more` bytes behind an active extent to it, if one that is not in use has them. */
static inline bool expand_pages(struct jemalloc *state, struct arena *arena, uint32_t number,
                                uint64_t more)
{
    uint32_t above = extent_at(state, number)->above;
    const struct extent *other = extent_at(state, above);
    if (above == NO_EXTENT || other->use == ACTIVE || other->size < more ||
        (other->use == RETAINED && !heap_has_room(&state->heap, more)) || !reserve_extents(state))
        return false;
    struct extent_cache *caches[] = {
        [DIRTY] = &arena->dirty, [MUZZY] = &arena->muzzy, [RETAINED] = &arena->retained};
    take_out(state, arena, caches[extent_at(state, above)->use], above, more, PAGE);
    set_state(state, above, STATE_WASTE);
    merge_extents(state, arena, number);
    return true;
}

#endif
