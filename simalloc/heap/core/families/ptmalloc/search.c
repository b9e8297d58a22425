/* Searching an arena of glibc's malloc and merging freed blocks. policy/families/ptmalloc.md
 * numbers the steps. */
#include "families/ptmalloc/cache.h"
#include "families/ptmalloc/lists.h"
#include "parts/bin_number.h"

enum { MAX_SORTED = 10000, TRIMS_FROM = 65536 };

/* Returns whether a search moves another block of a size to the thread's cache. */
static bool may_stash(const struct ptmalloc *state, uint64_t size)
{
    return size <= state->stashed_max && cache_has_room(state, size);
}

static void stash(struct ptmalloc *state, uint32_t id)
{
    cache_put(state, id);
}

/* Step 2: takes a block from a fast list. */
static uint32_t use_fast(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    struct heap *heap = &state->heap;
    const struct links *links = &state->tables.links;
    uint32_t id = unmerged_take(heap, links, &arena->fast, size);
    while (id != NO_BLOCK && arena->fast.of[size].count > 0 && may_stash(state, size))
        stash(state, unmerged_take(heap, links, &arena->fast, size));
    return id;
}

/* Step 3: takes a block from a small bin. */
static uint32_t use_small_bin(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    uint32_t id = groups_find(&arena->bins, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    take_from_bin(state, arena, id);
    if (state->version >= GLIBC_2_43 && size <= state->stashed_max &&
        !threads_make_cache_within(state, arena))
        return NO_BLOCK;
    for (;;) {
        uint32_t other = groups_find(&arena->bins, size);
        if (other == NO_BLOCK || !may_stash(state, size))
            return id;
        take_from_bin(state, arena, other);
        stash(state, other);
    }
}

/* Uses the low end of a block that has left its list. The remainder enters the unsorted list if it
 * has at least `least` bytes. */
static uint32_t use_low_end(struct ptmalloc *state, struct arena *arena, uint32_t id,
                            uint64_t size, uint64_t least)
{
    if (size_of(state, id) - size >= least) {
        uint32_t rest = split(state, id, size);
        enter_unsorted(state, arena, rest);
        if (is_small(state, size))
            arena->last_remainder = state->heap.blocks[rest].address;
    }
    return id;
}

/* Handles an unsorted block of exactly the requested size. Returns the block if it is used
 * immediately. Returns NO_BLOCK if the block is now in the thread's cache, or if the heap has
 * failed. */
static uint32_t keep_exact(struct ptmalloc *state, struct arena *arena, uint32_t id, uint64_t size)
{
    if (state->version >= GLIBC_2_44)
        return id;
    if (state->version == GLIBC_2_43 && !threads_make_cache_within(state, arena))
        return NO_BLOCK;
    if (!may_stash(state, size))
        return id;
    stash(state, id);
    return NO_BLOCK;
}

/* Step 5: sorts the unsorted list. Returns a block that serves the request, or NO_BLOCK. */
static uint32_t sort(struct ptmalloc *state, struct arena *arena, uint64_t size, uint64_t *visited)
{
    const struct heap *heap = &state->heap;
    bool kept = false;
    for (unsigned i = 0; i < MAX_SORTED && arena->unsorted.oldest != NO_BLOCK; i++) {
        uint32_t id = arena->unsorted.oldest;
        uint64_t have = size_of(state, id);
        ++*visited;
        bool alone = arena->unsorted.count == 1;
        leave_unsorted(state, arena, id);
        if (is_small(state, size) && alone && heap->blocks[id].address == arena->last_remainder &&
            have > size + state->keep)
            return use_low_end(state, arena, id, size, 1);
        if (have != size) {
            enter_bin(state, arena, id);
            continue;
        }
        uint32_t exact = keep_exact(state, arena, id, size);
        if (exact != NO_BLOCK || heap->failure != NULL)
            return exact;
        kept = true;
    }
    return kept ? cache_take(state, size) : NO_BLOCK;
}

/* Returns whether two large sizes belong in one bin. */
static bool share_bin(const struct ptmalloc *state, uint64_t one, uint64_t other)
{
    const bool is_narrow = state->heap.setting.word == 4;
    const struct bin_range ranges[] = {is_narrow ? (struct bin_range){2944, 6, 49}
                                                 : (struct bin_range){3136, 6, 48},
                                       {10752, 9, 91},
                                       {45056, 12, 110},
                                       {163840, 15, 119},
                                       {786432, 18, 124}};
    const size_t count = sizeof ranges / sizeof *ranges;
    return bin_number(ranges, count, one) == bin_number(ranges, count, other);
}

/* Step 6: takes the best binned block. */
static uint32_t use_best(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    uint32_t id = groups_best(&arena->bins, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t have = size_of(state, id);
    if (!is_small(state, have))
        id = !is_small(state, size) && share_bin(state, have, size)
                 ? groups_newest(&arena->bins, id)
                 : groups_oldest_other(&arena->bins, id);
    take_from_bin(state, arena, id);
    return use_low_end(state, arena, id, size, state->heap.setting.minimum);
}

uint32_t search_use_top(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    uint32_t id = take_top(state, arena);
    if (size_of(state, id) > size)
        set_top(state, arena, split(state, id, size));
    return id;
}

static bool top_is_enough(const struct ptmalloc *state, const struct arena *arena, uint64_t size)
{
    return arena->top != NO_BLOCK && size_of(state, arena->top) >= size + state->keep;
}

/* Step 9: takes a block from new memory. */
static uint32_t use_new(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    if (memory_may_map(state, size))
        return memory_map(state, size);
    if (!memory_grow(state, arena, size))
        return arena->number > 0 && state->heap.failure == NULL ? memory_map(state, size) : NO_BLOCK;
    return top_is_enough(state, arena, size) ? search_use_top(state, arena, size) : NO_BLOCK;
}

uint32_t search_arena(struct ptmalloc *state, struct arena *arena, uint64_t size, uint64_t *visited)
{
    uint32_t id = size <= state->mxfast ? use_fast(state, arena, size) : NO_BLOCK;
    if (id == NO_BLOCK && is_small(state, size))
        id = use_small_bin(state, arena, size);
    if (id != NO_BLOCK) {
        ++*visited;
        return id;
    }
    if (!is_small(state, size))
        search_consolidate(state, arena);
    while (state->heap.failure == NULL) {
        id = sort(state, arena, size, visited);
        if (id != NO_BLOCK)
            return id;
        id = use_best(state, arena, size);
        *visited += id != NO_BLOCK;
        if (id != NO_BLOCK)
            return id;
        *visited += arena->top != NO_BLOCK;
        if (top_is_enough(state, arena, size))
            return search_use_top(state, arena, size);
        if (!search_consolidate(state, arena))
            return use_new(state, arena, size);
    }
    return NO_BLOCK;
}

/* Merges a block with its free neighbours. The block must not be counted as allocated. Returns the
 * merged block. */
static uint32_t merge(struct ptmalloc *state, struct arena *arena, uint32_t id, bool consolidating)
{
    const struct block *block = &state->heap.blocks[id];
    merge_neighbours(state, arena, id);
    if (block->address + block->size == arena_end(state, arena)) {
        set_top(state, arena, id);
    } else if (state->version >= GLIBC_2_41 && !consolidating && is_small(state, block->size)) {
        enter_bin(state, arena, id);
        write_links(state, id);
    } else {
        enter_unsorted(state, arena, id);
    }
    return id;
}

bool search_consolidate(struct ptmalloc *state, struct arena *arena)
{
    struct unmerged *fast = &arena->fast;
    bool any = fast->blocks > 0;
    for (uint64_t size = 0; fast->blocks > 0; size++)
        for (uint32_t id; fast->of[size].count > 0;) {
            id = unmerged_take(&state->heap, &state->tables.links, fast, size);
            merge(state, arena, id, true);
        }
    return any;
}

void search_merge_and_trim(struct ptmalloc *state, uint32_t id)
{
    struct arena *arena = arena_of(state, id);
    id = merge(state, arena, id, false);
    if (size_of(state, id) < TRIMS_FROM)
        return;
    search_consolidate(state, arena);
    memory_trim(state, arena);
}
