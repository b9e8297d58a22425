/* Threads under glibc's malloc: their arenas and the creation of their caches. */
#include "families/ptmalloc/cache.h"
#include "families/ptmalloc/lists.h"

#include <stdlib.h>

enum { THREAD_BLOCK = 272 }; /* bytes requested to create a thread */

static void arena_release(struct arena *arena)
{
    if (arena == NULL)
        return;
    unmerged_release(&arena->fast);
    groups_release(&arena->bins);
    table_release(arena->heaps);
    free(arena);
}

struct arena *threads_make_arena(struct ptmalloc *state)
{
    bool has_room =
        TABLE_SPARE(state->arenas, state->arena_count, 1, UINT32_MAX, state->arena_capacity) &&
        TABLE_FOLLOW(state->idle, state->idle_capacity, state->arena_capacity);
    if (!heap_needs(&state->heap, has_room))
        return NULL;
    uint64_t unit = heap_unit(&state->heap) | state->growth | 2 * state->word;
    if (state->word == 0 && state->heap.setting.minimum > 1)
        unit = 1; /* an aligned request may need a block of odd size */
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL || !unmerged_init(&arena->fast, state->mxfast) ||
        !groups_init_sharing(&arena->bins, &state->heap, unit, &state->tables) ||
        !groups_reserve(&arena->bins)) {
        arena_release(arena);
        heap_fail(&state->heap, OUT_OF_MEMORY);
        return NULL;
    }
    arena->number = state->arena_count;
    arena->last_remainder = UINT64_MAX;
    state->arenas[state->arena_count++] = arena;
    return arena;
}

/* Returns whether another arena is allowed. The limit is fixed once it is computed. */
static bool may_grow(struct ptmalloc *state)
{
    uint64_t count = state->arena_count;
    if (state->arena_max == 0) {
        if (state->version < GLIBC_2_44)
            state->arena_max = count > state->arena_test ? 8 * state->cores : 0;
        else if (count >= state->arena_test)
            state->arena_max =
                state->cores > state->arena_test ? state->cores : state->arena_test;
    }
    return state->arena_max == 0 || count < state->arena_max;
}

/* Returns the next arena to share: the main arena, then the others from newest to oldest. */
static struct arena *reuse(struct ptmalloc *state)
{
    uint32_t place = state->next_reused;
    state->next_reused = (place + 1) % state->arena_count;
    return state->arenas[place == 0 ? 0 : state->arena_count - place];
}

struct arena *threads_attach(struct ptmalloc *state, uint64_t asked)
{
    struct arena *arena;
    if (state->idle_count > 0) {
        arena = state->arenas[state->idle[--state->idle_count]];
    } else if (!may_grow(state)) {
        arena = reuse(state);
    } else {
        arena = threads_make_arena(state);
        if (arena == NULL)
            return NULL;
        if (!memory_begin_arena(state, arena, asked)) {
            heap_need(&state->heap, NO_BLOCK);
            return NULL;
        }
    }
    arena->attached++;
    state->thread->arena = arena;
    return arena;
}

void threads_note_cache(struct ptmalloc *state)
{
    uint64_t most =
        state->tcache_max < state->small_cached ? state->tcache_max : state->small_cached;
    state->cache = state->thread->cache;
    state->quick_max = state->cache == NULL || blocks_wait(state) ? 0 : most;
}

bool threads_have_cache(struct ptmalloc *state, uint32_t table)
{
    struct cache *cache =
        calloc(1, sizeof *cache + (state->small_cached + 1) * sizeof *cache->small);
    if (!heap_needs(&state->heap, cache != NULL))
        return false;
    state->thread->cache = cache;
    state->thread->table = table;
    threads_note_cache(state);
    if (table != NO_BLOCK) {
        state->heap.blocks[table].index_slot = STATE_TABLE;
        heap_touch(&state->heap, state->heap.blocks[table].address + 2 * state->word,
                   state->table_size);
    }
    return true;
}

/* Makes the thread's cache in an arena, which allocates a table for the cache. */
static bool make_cache_in(struct ptmalloc *state, struct arena *arena, uint64_t asked)
{
    uint64_t visited = 0;
    uint32_t table = NO_BLOCK;
    if (state->table_size > 0) {
        state->making_cache = true;
        table = ptmalloc_find(state, arena, overhead_gross(&state->heap.setting, asked), &visited);
        table = heap_need(&state->heap, table);
        state->making_cache = false;
        if (table == NO_BLOCK)
            return false;
    }
    return threads_have_cache(state, table);
}

bool threads_make_cache(struct ptmalloc *state)
{
    if (state->version >= GLIBC_2_43 && state->tcache_count == 0)
        return true;
    struct arena *arena = threads_arena(state, state->table_size);
    return arena != NULL && make_cache_in(state, arena, state->table_size);
}

bool threads_make_cache_within(struct ptmalloc *state, struct arena *arena)
{
    if (LIKELY(state->cache != NULL) || state->making_cache || state->tcache_count == 0)
        return true;
    uint64_t asked = state->table_size;
    if (state->version == GLIBC_2_43 && asked > 0)
        asked = overhead_gross(&state->heap.setting, asked);
    return make_cache_in(state, arena, asked);
}

bool threads_find(struct ptmalloc *state, uint32_t number)
{
    if (!heap_needs(&state->heap, TABLE_COVER(state->thread_table, state->thread_entries, number)))
        return false;
    state->thread_number = number;
    state->thread = &state->thread_table[number];
    threads_note_cache(state);
    return true;
}

/* Attaches the main arena to the first thread, which then allocates a block for each other
 * thread. */
static bool begin(struct ptmalloc *state)
{
    struct heap *heap = &state->heap;
    struct arena *main_arena = threads_make_arena(state);
    if (main_arena == NULL || !heap_reserve_more(heap, heap->setting.other_threads) ||
        !threads_reserve(state) ||
        !threads_find(state, heap->setting.other_threads > 0 ? 0 : heap->request.thread))
        return false;
    state->thread->arena = main_arena;
    main_arena->attached = 1;
    uint64_t size = overhead_gross(&heap->setting, THREAD_BLOCK);
    for (uint64_t i = 0; i < heap->setting.other_threads; i++) {
        uint64_t visited;
        if (!has_cache_to_allocate(state))
            return false;
        uint32_t id = heap_need(heap, ptmalloc_find(state, main_arena, size, &visited));
        if (id == NO_BLOCK)
            return false;
        heap->blocks[id].index_slot = STATE_TABLE;
        write_object(state, id, size);
    }
    return true;
}

bool threads_switch(struct ptmalloc *state)
{
    if (state->arena_count == 0 && !begin(state))
        return false;
    return threads_find(state, state->heap.request.thread);
}

void threads_end(struct heap *heap)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    if (!threads_switch(state))
        return;
    struct thread ended = *state->thread;
    *state->thread = (struct thread){NULL, NULL, NO_BLOCK};
    threads_note_cache(state);
    uint64_t from = 0;
    if (ended.cache != NULL)
        for (uint32_t id; (id = cache_drain(state, ended.cache, &from)) != NO_BLOCK;)
            ptmalloc_release(state, id);
    free(ended.cache);
    if (ended.table != NO_BLOCK)
        ptmalloc_release(state, ended.table);
    if (ended.arena != NULL && --ended.arena->attached == 0)
        state->idle[state->idle_count++] = ended.arena->number;
}

bool threads_reserve(struct ptmalloc *state)
{
    for (uint32_t i = 0; i < state->arena_count; i++)
        if (!groups_reserve(&state->arenas[i]->bins))
            return false;
    return group_tables_reserve(&state->tables, state->heap.capacity);
}

void threads_release(struct ptmalloc *state)
{
    for (uint32_t i = 0; i < state->arena_count; i++)
        arena_release(state->arenas[i]);
    for (uint32_t i = 0; i < state->thread_entries; i++)
        free(state->thread_table[i].cache);
    group_tables_release(&state->tables);
    table_release(state->arenas);
    table_release(state->idle);
    table_release(state->thread_table);
    free(state->waiting);
}
