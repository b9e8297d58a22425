#include "families/jemalloc/report.h"

/* Adds the figures of one arena. */
static void report_arena(const struct arena *arena, uint64_t *figures)
{
    figures[ALLOCATED] += arena->allocated;
    figures[ACTIVE_BYTES] += arena->active;
    figures[RETAINED_BYTES] += arena->retained.pages * PAGE;
    figures[PDIRTY] += arena->dirty.pages;
    figures[PMUZZY] += arena->muzzy.pages;
    figures[BASE] += arena->metadata.allocated;
    figures[RESIDENT] += arena->active + arena->dirty.pages * PAGE;
    figures[MAPPED] += arena->active + (arena->dirty.pages + arena->muzzy.pages) * PAGE;
    for (uint32_t i = 0; i < arena->metadata.count; i++) {
        figures[RESIDENT] += round_up(arena->metadata.blocks[i].used, PAGE);
        figures[MAPPED] += arena->metadata.blocks[i].size;
    }
}

static uint64_t cached_bytes(const struct jemalloc *state, const struct thread *thread)
{
    uint64_t bytes = 0;
    for (uint32_t class = 0; thread != NULL && thread->has_cache && class < state->classes; class++)
        bytes += thread->stacks[class].count * class_size(class);
    return bytes;
}

void jemalloc_report(const struct heap *heap, uint64_t *figures)
{
    const struct jemalloc *state = (const struct jemalloc *)heap;
    memset(figures, 0, sizeof figure_names / sizeof *figure_names * sizeof *figures);
    for (uint64_t number = 0; number <= state->narenas; number++)
        if (state->arenas[number] != NULL)
            report_arena(state->arenas[number], figures);
    for (uint64_t number = 0; number < state->thread_count; number++)
        figures[TCACHE_BYTES] += cached_bytes(state, state->threads[number]);
    figures[INTERNAL] = state->internal;
    figures[METADATA] = figures[BASE] + state->internal;
}

void jemalloc_locate(const struct heap *heap, uint32_t block, struct location *location)
{
    const struct jemalloc *state = (const struct jemalloc *)heap;
    const struct extent *extent = &state->extents.at[heap->blocks[block].family_data];
    uint64_t offset = heap->blocks[block].address - state->mappings[extent->mapping].address;
    *location = (struct location){extent->arena, extent->mapping, (int64_t)offset};
}

uint64_t jemalloc_count_cached(const void *memory)
{
    const struct jemalloc *state = memory;
    uint64_t count = 0;
    for (uint64_t number = 0; number < state->thread_count; number++) {
        const struct thread *thread = state->threads[number];
        for (uint32_t class = 0; thread != NULL && thread->has_cache && class < state->classes;
             class++)
            count += thread->stacks[class].count;
    }
    return count;
}

/* Returns a description of the first fault in the extents of a cache, or NULL. Adds the number of
 * extents to `count`. */
static const char *check_cache(const struct jemalloc *state, const struct extent_cache *cache,
                               uint64_t *count)
{
    uint64_t pages = 0;
    for (uint32_t number = cache->oldest; number != NO_EXTENT;
         number = state->extents.at[number].newer) {
        const struct extent *extent = &state->extents.at[number];
        const struct block *block = &state->heap.blocks[extent->block];
        if (extent->use != cache->use || block->address != extent->address ||
            block->size != extent->size)
            return "a cached extent is not one block";
        pages += extent->size / PAGE;
        *count += 1;
    }
    return pages == cache->pages ? NULL : "the pages of a cache are miscounted";
}

static const char *check_slab(const struct extent *slab, uint64_t *count)
{
    unsigned free = 0;
    for (size_t i = 0; i < REGION_WORDS; i++)
        free += (unsigned)__builtin_popcountll(slab->is_free[i]);
    *count += free;
    return free == slab->free_regions ? NULL : "the free regions of a slab are miscounted";
}

const char *jemalloc_check(const void *memory)
{
    const struct jemalloc *state = memory;
    const char *wrong = heap_check(&state->heap);
    uint64_t free_blocks = 0;
    uint64_t retained = 0;
    for (uint64_t i = 0; i <= state->narenas && wrong == NULL; i++) {
        const struct arena *arena = state->arenas[i];
        if (arena == NULL)
            continue;
        wrong = check_cache(state, &arena->dirty, &free_blocks);
        if (wrong == NULL)
            wrong = check_cache(state, &arena->muzzy, &free_blocks);
        if (wrong == NULL)
            wrong = check_cache(state, &arena->retained, &retained);
    }
    for (uint32_t i = 1; i < state->extents.used; i++)
        if (state->extents.at[i].regions != NULL && wrong == NULL)
            wrong = check_slab(&state->extents.at[i], &free_blocks);
    if (wrong == NULL && free_blocks != state->heap.counters.free_blocks)
        wrong = "the free blocks are miscounted";
    return wrong;
}
