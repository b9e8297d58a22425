/* glibc's malloc 2.36 (policy/families/ptmalloc.md). */
#include "families/ptmalloc_lists.h"

enum { MOST_SORTED = 10000, CONSOLIDATES_FROM = 65536 };
static const uint64_t most_map_from = UINT64_C(32) << 20;

/* Step 2 of an allocation. */
static uint32_t use_fast(struct ptmalloc *state, uint64_t size)
{
    uint32_t id = uncache(state, &state->fast_lists, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    while (cache_has_room(state, size)) {
        uint32_t other = uncache(state, &state->fast_lists, size);
        if (other == NO_BLOCK)
            break;
        put_in_cache(state, other);
    }
    return use_whole(state, id);
}

/* Step 3. */
static uint32_t use_small_bin(struct ptmalloc *state, uint64_t size)
{
    uint32_t id = groups_find(&state->bins, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    leave_bin(state, id);
    for (;;) {
        uint32_t other = groups_find(&state->bins, size);
        if (other == NO_BLOCK || !cache_has_room(state, size))
            return use_whole(state, id);
        leave_bin(state, other);
        put_in_cache(state, other);
    }
}

/* Uses the low end of a block that has been taken out; the rest, if it is enough, is unsorted. */
static uint32_t use_low_end(struct ptmalloc *state, uint32_t id, uint64_t size, uint64_t least)
{
    struct heap *heap = &state->heap;
    if (size_of(state, id) - size >= least) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        enter_unsorted(state, rest);
        if (is_small(state, size))
            state->last_remainder = heap->blocks[rest].address;
    }
    return use_whole(state, id);
}

/* Step 5: sorts what is unsorted; returns a block that serves on the way. */
static uint32_t sort(struct ptmalloc *state, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    bool kept = false;
    for (unsigned i = 0; i < MOST_SORTED && state->unsorted.oldest != NO_BLOCK; i++) {
        uint32_t id = state->unsorted.oldest;
        uint64_t have = size_of(state, id);
        ++*visited;
        bool alone = state->unsorted.count == 1;
        leave_unsorted(state, id);
        if (is_small(state, size) && alone && heap->blocks[id].address == state->last_remainder &&
            have > size + state->keep)
            return use_low_end(state, id, size, 1);
        if (have != size)
            groups_insert(&state->bins, id);
        else if (put_in_cache(state, id))
            kept = true;
        else
            return use_whole(state, id);
    }
    if (!kept)
        return NO_BLOCK;
    return use_whole(state, uncache(state, &state->thread_cache, size));
}

/* Step 6: the best binned block. */
static uint32_t use_best(struct ptmalloc *state, uint64_t size)
{
    uint32_t id = groups_best(&state->bins, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t have = size_of(state, id);
    if (!is_small(state, have))
        id = !is_small(state, size) && share_bin(state, have, size)
                 ? groups_newest(&state->bins, id)
                 : groups_oldest_other(&state->bins, id);
    leave_bin(state, id);
    return use_low_end(state, id, size, state->heap.setting.minimum);
}

static uint32_t use_top(struct ptmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = state->top;
    take_out(heap, id);
    if (size_of(state, id) > size) {
        set_top(state, heap_cut_high(heap, id, size));
        heap->counters.splits++;
    }
    return use_whole(state, id);
}

/* Step 9: new memory. */
static uint32_t use_new(struct ptmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (state->map_from != 0 && size >= state->map_from)
        return segment_allocate(heap, round_up(size + state->tag, state->growth));
    uint64_t have = state->top == NO_BLOCK ? 0 : size_of(state, state->top);
    uint64_t rise = round_up(size + state->top_pad + state->keep - have, state->growth);
    if (!top_grow(heap, &state->top, rise))
        return NO_BLOCK;
    heap->blocks[state->top].family_data = 0;
    return use_top(state, size);
}

/* Steps 2 to 9. */
static uint32_t place(struct ptmalloc *state, uint64_t size, uint64_t *visited)
{
    uint32_t id = size <= state->fast_lists.most ? use_fast(state, size) : NO_BLOCK;
    if (id == NO_BLOCK && is_small(state, size))
        id = use_small_bin(state, size);
    if (id != NO_BLOCK) {
        ++*visited;
        return id;
    }
    if (!is_small(state, size))
        consolidate(state);
    for (;;) {
        id = sort(state, size, visited);
        if (id != NO_BLOCK)
            return id;
        id = use_best(state, size);
        *visited += id != NO_BLOCK;
        if (id != NO_BLOCK)
            return id;
        *visited += state->top != NO_BLOCK;
        if (state->top != NO_BLOCK && size_of(state, state->top) >= size + state->keep)
            return use_top(state, size);
        if (!consolidate(state))
            return use_new(state, size);
    }
}

/* Makes the thread cache itself before anything else. */
static bool start(struct ptmalloc *state)
{
    struct heap *heap = &state->heap;
    uint64_t word = heap->setting.word;
    uint64_t visited = 0;
    state->started = true;
    if (!heap->setting.mechanism)
        return true;
    uint64_t size = round_up(64 * (word + 2) + word, heap->setting.alignment);
    uint32_t id = place(state, size, &visited);
    if (id != NO_BLOCK)
        heap_mark(heap, id, STATE_TABLE);
    return id != NO_BLOCK;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct ptmalloc *state = (struct ptmalloc *)heap;
    if (!state->started && !start(state))
        return NO_BLOCK;
    uint64_t visited = 1;
    uint32_t id = uncache(state, &state->thread_cache, size);
    if (id != NO_BLOCK) {
        use_whole(state, id);
    } else {
        visited = 0;
        id = place(state, size, &visited);
    }
    count_search(heap, visited);
    return id;
}

/* Lowers the break when the top has become large. */
static void trim(struct ptmalloc *state)
{
    uint32_t top = state->top;
    uint64_t stays = state->keep + 1 + state->top_pad;
    if (top == NO_BLOCK || size_of(state, top) < state->trim || size_of(state, top) < stays)
        return;
    uint64_t falls = size_of(state, top) - stays;
    falls -= falls % state->growth;
    if (falls > 0)
        heap_lower(&state->heap, falls);
}

static void release_segment(struct ptmalloc *state, uint32_t id)
{
    uint64_t size = size_of(state, id);
    if (size > state->map_from && size <= most_map_from) {
        state->map_from = size;
        state->trim = 2 * size;
    }
    heap_unmap_segment(&state->heap, id);
}

/* Frees a block that is not counted as allocated. */
static void make_free(struct heap *heap, uint32_t id)
{
    struct ptmalloc *state = (struct ptmalloc *)heap;
    if (put_in_cache(state, id))
        return;
    if (unmerged_has_room(&state->fast_lists, size_of(state, id), UINT32_MAX)) {
        unmerged_put(heap, &state->links, &state->fast_lists, id);
        return;
    }
    id = merge(state, id);
    if (size_of(state, id) < CONSOLIDATES_FROM)
        return;
    consolidate(state);
    trim(state);
}

static void release(struct heap *heap, uint32_t id)
{
    struct ptmalloc *state = (struct ptmalloc *)heap;
    if (segment_is(heap, id)) {
        release_segment(state, id);
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    make_free(heap, id);
}

/* Makes a block larger by the free one above it; false if that is not enough. */
static bool take_above(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t above = heap->blocks[id].next;
    uint64_t both = size_of(state, id) + size_of(state, above);
    if (!heap_is_free(heap, above) || both < size)
        return false;
    if (above != state->top) {
        take_out(heap, above);
        use_whole(state, above);
    } else if (both >= size + state->keep) {
        use_top(state, size - size_of(state, id));
    } else {
        return false;
    }
    heap_join_next(heap, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct ptmalloc *state = (struct ptmalloc *)heap;
    if (segment_is(heap, id)) {
        uint64_t wanted = round_up(size + state->tag, state->growth);
        return wanted == size_of(state, id) ? id : segment_replace(heap, id, wanted);
    }
    if (size_of(state, id) >= size || take_above(state, id, size))
        return shrink(heap, id, size, make_free);
    uint64_t visited = 0;
    uint32_t other = place(state, size, &visited);
    count_search(heap, visited);
    return move_or_join(heap, id, other, size, make_free);
}

static bool reserve(struct heap *heap)
{
    struct ptmalloc *state = (struct ptmalloc *)heap;
    return heap_reserve(heap) && groups_reserve(&state->bins) &&
           links_reserve(&state->links, heap->capacity);
}

DEFINE_ONLY_LAYER(ptmalloc, true, allocate, release, reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct ptmalloc *state = memory;
    struct heap *heap = &state->heap;
    const struct setting *setting = &heap->setting;
    uint64_t unit = heap_unit(heap) | state->growth;
    state->small_below = setting->word == 4 ? 1008 : 1024;
    state->last_remainder = UINT64_MAX;
    if (setting->mechanism) {
        state->keep = setting->minimum;
        state->tag = setting->word;
        unit |= 2 * setting->word;
    }
    uint64_t cached_most = 4 * setting->word + 16 * (state->cache_lists - 1);
    return unmerged_init(&state->thread_cache, cached_most) &&
           unmerged_init(&state->fast_lists, state->fast * setting->word) && heap_init(heap) &&
           groups_init(&state->bins, heap, unit);
}

static void release_all(void *memory)
{
    struct ptmalloc *state = memory;
    unmerged_release(&state->thread_cache);
    unmerged_release(&state->fast_lists);
    links_release(&state->links);
    groups_release(&state->bins);
    heap_release(&state->heap);
}

static uint64_t cached(const void *memory)
{
    const struct ptmalloc *state = memory;
    return state->thread_cache.blocks + state->fast_lists.blocks;
}

static const char *check(const void *memory)
{
    const struct ptmalloc *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t blocks = state->bins.block_count + state->unsorted.count + (state->top != NO_BLOCK);
    if (blocks != heap->counters.free_blocks)
        return "the free blocks are miscounted";
    const char *wrong = top_check(heap, state->top);
    if (wrong == NULL)
        wrong = heap_check(heap);
    return wrong == NULL ? groups_check(&state->bins) : wrong;
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct ptmalloc, growth),
    SIZE_PARAMETER(struct ptmalloc, top_pad),
    SIZE_PARAMETER(struct ptmalloc, trim),
    SIZE_PARAMETER(struct ptmalloc, map_from),
    PARAMETER(struct ptmalloc, fast, 0, 1 << 16),
    PARAMETER(struct ptmalloc, cache_lists, 1, 1 << 16),
    PARAMETER(struct ptmalloc, cache_length, 0, 1 << 16),
};

const struct family ptmalloc = {
    .name = "ptmalloc",
    .state_size = sizeof(struct ptmalloc),
    PARAMETERS(parameters),
    .blocks_an_event = 6,
    .init = init,
    .release = release_all,
    .next_layer = next_layer,
    .check = check,
    .cached = cached,
};
