#include "families/jemalloc/page_allocator.h"

/* Merges an extent with the neighbour above, or else below, if the neighbour is in the cache and
 * the sum is at most `max_size` bytes. Returns the merged extent, or NO_EXTENT if neither neighbour
 * merges. */
static uint32_t merge_one(struct jemalloc *state, struct arena *arena,
                                 struct extent_cache *cache, uint32_t number, uint64_t max_size)
{
    const struct extent *extent = extent_at(state, number);
    const uint32_t neighbours[] = {extent->above, extent->below};
    for (unsigned i = 0; i < 2; i++) {
        const struct extent *other = extent_at(state, neighbours[i]);
        if (neighbours[i] == NO_EXTENT || other->use != cache->use ||
            extent->size + other->size > max_size)
            continue;
        jemalloc_cache_remove(state, cache, neighbours[i]);
        uint32_t low = i == 0 ? number : neighbours[i];
        jemalloc_merge_extents(state, arena, low);
        return low;
    }
    return NO_EXTENT;
}

/* Merges an extent with its neighbours in the cache until neither merges. Returns the merged
 * extent. */
static uint32_t merge_all(struct jemalloc *state, struct arena *arena,
                                 struct extent_cache *cache, uint32_t number, uint64_t max_size)
{
    for (uint32_t merged = number; merged != NO_EXTENT;) {
        number = merged;
        merged = merge_one(state, arena, cache, number, max_size);
    }
    return number;
}

/* Purges an extent. With `retain`, its addresses enter the retained extents; otherwise they are
 * dropped. */
static void retain_extent(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    extent_at(state, number)->is_zero = true;
    jemalloc_set_state(state, number, STATE_HOLE);
    if (!state->retain) {
        jemalloc_forget_extent(state, arena, number);
        return;
    }
    number = merge_all(state, arena, &arena->retained, number, NO_LIMIT);
    jemalloc_cache_insert(state, &arena->retained, number);
}

/* Removes the oldest extents from a cache until at most `limit` pages remain or at least
 * `max_taken` pages were removed. A dirty extent with a dirty neighbour merges with it once and
 * becomes the newest instead. Returns the first removed extent; `newer` links the others. */
static uint32_t take_oldest(struct jemalloc *state, struct arena *arena,
                                   struct extent_cache *cache, uint64_t limit, uint64_t max_taken)
{
    uint32_t first = NO_EXTENT;
    uint32_t last = NO_EXTENT;
    uint64_t taken = 0;
    while (taken < max_taken && cache->pages > limit) {
        uint32_t number = cache->oldest;
        jemalloc_cache_remove(state, cache, number);
        uint32_t merged = cache->use == DIRTY ? merge_one(state, arena, cache, number, NO_LIMIT)
                                              : NO_EXTENT;
        if (merged != NO_EXTENT) {
            jemalloc_cache_insert(state, cache, merged);
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

/* Purges the oldest extents of a cache. If `lazily`, dirty pages become muzzy instead, unless muzzy
 * pages are disabled. */
static void evict(struct jemalloc *state, struct arena *arena, struct extent_cache *cache,
                         uint64_t limit, uint64_t max_taken, bool lazily)
{
    bool to_muzzy = lazily && cache->use == DIRTY && arena->muzzy_decay.milliseconds != 0;
    uint32_t number = take_oldest(state, arena, cache, limit, max_taken);
    while (number != NO_EXTENT) {
        uint32_t next = extent_at(state, number)->newer;
        if (to_muzzy) {
            number = merge_all(state, arena, &arena->muzzy, number, NO_LIMIT);
            jemalloc_cache_insert(state, &arena->muzzy, number);
        } else {
            retain_extent(state, arena, number);
        }
        number = next;
    }
}

void jemalloc_purge_all(struct jemalloc *state, struct arena *arena)
{
    evict(state, arena, &arena->dirty, 0, arena->dirty.pages, false);
    evict(state, arena, &arena->muzzy, 0, arena->muzzy.pages, false);
}

static void look_at(struct jemalloc *state, struct arena *arena, struct extent_cache *cache,
                           struct decay *decay)
{
    uint64_t pages = cache->pages;
    if (decay->milliseconds == 0)
        evict(state, arena, cache, 0, pages, true);
    else if (decay->milliseconds > 0 && jemalloc_decay_advance(state, decay, pages) &&
             pages > decay->limit)
        evict(state, arena, cache, decay->limit, pages - decay->limit, true);
}

void jemalloc_look(struct jemalloc *state, struct arena *arena)
{
    look_at(state, arena, &arena->dirty, &arena->dirty_decay);
    look_at(state, arena, &arena->muzzy, &arena->muzzy_decay);
}

/* Makes an active extent, which must be one block, dirty. An extent of at least SMALLEST_LARGE
 * bytes is first merged with its neighbours. */
static void make_dirty(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    struct extent *extent = extent_at(state, number);
    extent->is_zero = false;
    jemalloc_set_state(state, number, STATE_FREE);
    if (extent->size < SMALLEST_LARGE) {
        jemalloc_cache_insert(state, &arena->dirty, number);
        return;
    }
    uint64_t max_size = NO_LIMIT;
    if (state->version == V5_3_1 && extent->size <= NO_LIMIT >> state->lg_extent_max_active_fit)
        max_size = extent->size << state->lg_extent_max_active_fit;
    number = merge_all(state, arena, &arena->dirty, number, max_size);
    bool never = arena->dirty_decay.milliseconds < 0 || arena->muzzy_decay.milliseconds < 0;
    if (extent_at(state, number)->size >= arena->eager_from && !never && !state->background_thread)
        retain_extent(state, arena, number);
    else
        jemalloc_cache_insert(state, &arena->dirty, number);
}

void jemalloc_free_pages(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    make_dirty(state, arena, number);
    if (arena->dirty_decay.milliseconds == 0)
        evict(state, arena, &arena->dirty, 0, arena->dirty.pages, false);
}

/* Cuts `size` bytes at a multiple of `alignment` out of an active extent and returns them. Stores
 * the remainders before and after them in `rests`; either may be NO_EXTENT. */
static uint32_t cut_out(struct jemalloc *state, struct arena *arena, uint32_t number,
                               uint64_t size, uint64_t alignment, uint32_t rests[2])
{
    rests[0] = rests[1] = NO_EXTENT;
    const struct extent *extent = extent_at(state, number);
    uint64_t lead = aligned_address(state, extent, alignment) - extent->address;
    if (lead > 0) {
        rests[0] = number;
        number = jemalloc_split_extent(state, arena, number, lead);
    }
    if (extent_at(state, number)->size > size)
        rests[1] = jemalloc_split_extent(state, arena, number, size);
    return number;
}

/* Cuts `size` bytes out of a cached extent. The remainders stay in the cache. */
static uint32_t take_out(struct jemalloc *state, struct arena *arena,
                                struct extent_cache *cache, uint32_t number, uint64_t size,
                                uint64_t alignment)
{
    uint32_t rests[2];
    jemalloc_cache_remove(state, cache, number);
    number = cut_out(state, arena, number, size, alignment, rests);
    for (unsigned i = 0; i < 2; i++)
        if (rests[i] != NO_EXTENT)
            jemalloc_cache_insert(state, cache, rests[i]);
    return number;
}

/* Maps the next sufficient size of the growing series. The remainder is retained. */
static uint32_t grow(struct jemalloc *state, struct arena *arena, uint64_t size,
                            uint64_t alignment)
{
    if (!state->retain)
        return jemalloc_map_extent(state, arena, size, alignment);
    uint64_t needed = size + (alignment > PAGE ? alignment - PAGE : 0);
    uint64_t mapped = arena->next_mapping;
    while (mapped < needed)
        mapped = class_above(mapped + 1, PAGE);
    arena->next_mapping = class_above(mapped + 1, PAGE);
    uint32_t number = jemalloc_map_extent(state, arena, mapped, PAGE);
    if (number == NO_EXTENT)
        return NO_EXTENT;
    uint32_t rests[2];
    number = cut_out(state, arena, number, size, alignment, rests);
    for (unsigned i = 0; i < 2; i++)
        if (rests[i] != NO_EXTENT)
            retain_extent(state, arena, rests[i]);
    return number;
}

uint32_t jemalloc_allocate_pages(struct jemalloc *state, struct arena *arena, uint64_t size,
                                 uint64_t alignment)
{
    if (!jemalloc_reserve_extents(state))
        return NO_EXTENT;
    struct extent_cache *mapped[] = {&arena->dirty, &arena->muzzy};
    unsigned count = arena->muzzy_decay.milliseconds != 0 ? 2 : 1;
    uint32_t number = NO_EXTENT;
    for (unsigned i = 0; i < count && number == NO_EXTENT; i++) {
        number = jemalloc_cache_find(state, mapped[i], size, alignment);
        if (number != NO_EXTENT)
            number = take_out(state, arena, mapped[i], number, size, alignment);
    }
    if (number == NO_EXTENT) {
        uint64_t batch = jemalloc_batched_size(state, size);
        if (!heap_has_room(&state->heap, batch)) {
            heap_refuse(&state->heap);
            return NO_EXTENT;
        }
        number = jemalloc_cache_find(state, &arena->retained, batch, alignment);
        if (number != NO_EXTENT)
            number = take_out(state, arena, &arena->retained, number, batch, alignment);
        else
            number = grow(state, arena, batch, alignment);
        if (number != NO_EXTENT && batch > size)
            make_dirty(state, arena, jemalloc_split_extent(state, arena, number, size));
    }
    if (number != NO_EXTENT)
        jemalloc_set_state(state, number, STATE_WASTE);
    return number;
}

bool jemalloc_expand_pages(struct jemalloc *state, struct arena *arena, uint32_t number,
                           uint64_t more)
{
    uint32_t above = extent_at(state, number)->above;
    const struct extent *other = extent_at(state, above);
    if (above == NO_EXTENT || other->use == ACTIVE || other->size < more ||
        (other->use == RETAINED && !heap_has_room(&state->heap, more)) ||
        !jemalloc_reserve_extents(state))
        return false;
    struct extent_cache *caches[] = {
        [DIRTY] = &arena->dirty, [MUZZY] = &arena->muzzy, [RETAINED] = &arena->retained};
    take_out(state, arena, caches[extent_at(state, above)->use], above, more, PAGE);
    jemalloc_set_state(state, above, STATE_WASTE);
    jemalloc_merge_extents(state, arena, number);
    return true;
}
