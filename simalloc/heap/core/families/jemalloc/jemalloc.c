/* jemalloc 5.3 (policy/families/jemalloc.md): arenas with slabs and extents of pages, behind thread
 * caches. */
#include "families/jemalloc/jemalloc.h"

#include "families/jemalloc/report.h"
#include "layers/define_layer.h"

/* Allocates an object from the thread's cache, or from an arena if the cache has no object of the
 * class. */
ALWAYS_INLINE uint32_t allocate_object(struct jemalloc *state, struct thread *thread, uint64_t size,
                                       uint64_t usable)
{
    uint32_t class = class_number(usable);
    if (!thread->has_cache || class >= state->classes)
        return jemalloc_allocate_past_cache(state, thread, size, usable, 1);
    struct stack *stack = &thread->stacks[class];
    if (UNLIKELY(stack->count == 0)) {
        if (class >= SMALL_CLASSES || stack->capacity == 0)
            return jemalloc_allocate_from(state, thread, thread->arena, usable, 1);
        if (!jemalloc_fill_stack(state, thread, class))
            return NO_BLOCK;
    }
    uint32_t block = stack_pop(&state->heap, stack);
    if (UNLIKELY(state->heap.request.is_zeroed))
        heap_touch(&state->heap, state->heap.blocks[block].address, usable);
    return block;
}

/* Frees an object into the thread's cache, or into its arena if the cache does not hold its
 * class. */
ALWAYS_INLINE void free_object(struct jemalloc *state, struct thread *thread, uint32_t block)
{
    uint32_t class = class_number(state->heap.blocks[block].size);
    if (!thread->has_cache || class >= state->classes) {
        jemalloc_free_past_cache(state, thread, block);
        return;
    }
    struct stack *stack = &thread->stacks[class];
    if (UNLIKELY(stack->count == stack->capacity)) {
        if (stack->capacity == 0) {
            jemalloc_free_past_cache(state, thread, block);
            return;
        }
        jemalloc_flush_stack(state, thread, class, stack->capacity / 2);
    }
    stack_push(&state->heap, stack, block);
    write_stack(state, stack, 1);
}

/* Counts allocated and freed bytes. Collects the cache when either count reaches the limit. */
ALWAYS_INLINE void count_bytes(struct jemalloc *state, struct thread *thread, uint64_t allocated,
                               uint64_t freed)
{
    thread->allocated += allocated;
    if (UNLIKELY(thread->allocated >= state->tcache_gc_incr_bytes)) {
        thread->allocated = 0;
        jemalloc_collect(state, thread);
    }
    thread->freed += freed;
    if (UNLIKELY(thread->freed >= state->tcache_gc_incr_bytes)) {
        thread->freed = 0;
        jemalloc_collect(state, thread);
    }
}

/* Allocates an object of thread 0 that is never freed, and writes its first bytes. Returns false if
 * memory or the capacity is exhausted. */
static bool keep(struct jemalloc *state, uint64_t size, uint64_t written)
{
    struct heap *heap = &state->heap;
    struct thread *thread = jemalloc_find_thread(state, 0, true);
    uint64_t usable = usable_size(state, size);
    uint32_t block =
        thread == NULL ? NO_BLOCK : allocate_object(state, thread, size, usable);
    if (heap_need(heap, block) == NO_BLOCK)
        return false;
    heap_mark(heap, block, STATE_TABLE);
    heap_touch(heap, heap->blocks[block].address, written);
    count_bytes(state, thread, usable, 0);
    return true;
}

/* Makes the allocations of thread 0 that precede the first event and are never freed. The C++
 * library allocates for itself, and the C library for each other thread. Returns false if memory or
 * the capacity is exhausted. */
static NEVER_INLINE bool start_program(struct jemalloc *state)
{
    const struct heap *heap = &state->heap;
    uint64_t count = (int64_t)state->started_threads < 0 ? heap->setting.other_threads
                                                         : state->started_threads;
    if (!heap->setting.mechanism)
        return true;
    bool kept = !state->cxx_pool || keep(state, POOL_OF_EXCEPTIONS, POOL_WRITTEN);
    for (uint64_t i = 0; i < count && kept; i++)
        kept = keep(state, BYTES_OF_THREAD, usable_size(state, BYTES_OF_THREAD));
    return kept;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct jemalloc *state = (struct jemalloc *)heap;
    if (UNLIKELY(state->events == 0) && !start_program(state))
        return NO_BLOCK;
    struct thread *thread = begin(state, true);
    if (UNLIKELY(thread == NULL))
        return NO_BLOCK;
    uint64_t alignment = power_above(heap->request.alignment);
    uint64_t usable =
        alignment > 1 ? jemalloc_aligned_size(state, size, alignment) : usable_size(state, size);
    uint32_t block = alignment > 1 && usable >= SMALLEST_LARGE
                         ? jemalloc_allocate_past_cache(state, thread, usable, usable, alignment)
                         : allocate_object(state, thread, size, usable);
    if (UNLIKELY(block == NO_BLOCK))
        return NO_BLOCK;
    count_search(heap, 0);
    count_bytes(state, thread, usable, 0);
    return block;
}

static void release(struct heap *heap, uint32_t block)
{
    struct jemalloc *state = (struct jemalloc *)heap;
    struct thread *thread = begin(state, false);
    if (UNLIKELY(thread == NULL))
        return;
    uint64_t usable = heap->blocks[block].size;
    free_object(state, thread, block);
    count_bytes(state, thread, 0, usable);
}

/* Keeps an object in place if its usable size does not change or if it is a large object that can
 * be resized. Returns whether it stays in place. */
static bool resize_in_place(struct jemalloc *state, struct thread *thread, uint32_t block,
                            uint64_t usable)
{
    struct arena *arena = arena_of(state, block);
    if (usable != state->heap.blocks[block].size &&
        (extent_of(state, block)->regions != NULL || usable < SMALLEST_LARGE ||
         !jemalloc_resize_large(state, block, usable)))
        return false;
    tick(state, thread, arena, 1);
    return true;
}

/* Moves an object to a new place. A large object does not come from the cache. */
static uint32_t move_object(struct jemalloc *state, struct thread *thread, uint32_t block,
                            uint64_t usable)
{
    struct heap *heap = &state->heap;
    uint64_t copied = heap->blocks[block].size < usable ? heap->blocks[block].size : usable;
    uint32_t moved = copied >= SMALLEST_LARGE
                         ? jemalloc_allocate_past_cache(state, thread, usable, usable, 1)
                         : allocate_object(state, thread, usable, usable);
    if (moved == NO_BLOCK)
        return NO_BLOCK;
    count_search(heap, 0);
    heap_touch(heap, heap->blocks[block].address, copied);
    heap_touch(heap, heap->blocks[moved].address, copied);
    free_object(state, thread, block);
    return moved;
}

static uint32_t resize_or_move(struct heap *heap, uint32_t block, uint64_t size)
{
    struct jemalloc *state = (struct jemalloc *)heap;
    struct thread *thread = begin(state, true);
    if (thread == NULL)
        return NO_BLOCK;
    uint64_t have = heap->blocks[block].size;
    uint64_t usable = usable_size(state, size);
    if (!resize_in_place(state, thread, block, usable))
        block = move_object(state, thread, block, usable);
    if (block != NO_BLOCK)
        count_bytes(state, thread, usable, have);
    return block;
}

static bool resize(struct heap *heap, uint32_t block, uint64_t size)
{
    struct jemalloc *state = (struct jemalloc *)heap;
    struct thread *thread = begin(state, true);
    return thread != NULL && resize_in_place(state, thread, block, usable_size(state, size));
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    return usable_size((const struct jemalloc *)heap, size);
}

DEFINE_ONLY_LAYER(jemalloc, true, allocate, release, heap_reserve, .resize = resize,
                  .reallocate = resize_or_move, .rounded = rounded)

/* Detaches the thread from its arena. Purges the arena's pages if it has no other thread. */
static void end_thread(struct heap *heap)
{
    struct jemalloc *state = (struct jemalloc *)heap;
    if (state->events == 0 && !start_program(state))
        return;
    struct thread *thread = begin(state, false);
    if (thread == NULL)
        return;
    struct arena *arena = thread->arena;
    if (arena != NULL)
        arena->threads--;
    if (thread->has_cache) {
        for (uint32_t class = 0; class < state->classes; class++)
            jemalloc_flush_stack(state, thread, class, 0);
        if (thread->table != NO_BLOCK) {
            state->internal -= heap->blocks[thread->table].size;
            jemalloc_free_past_cache(state, thread, thread->table);
        }
        if (arena->threads == 0 && !state->background_thread)
            jemalloc_purge_all(state, arena);
        else if (!state->background_thread)
            jemalloc_look(state, arena);
    }
    jemalloc_release_thread(state, heap->request.thread);
}

static bool init(void *memory)
{
    struct jemalloc *state = memory;
    bool is_new = state->version == V5_3_1;
    state->pad = state->heap.setting.mechanism && state->cache_oblivious ? PAGE : 0;
    state->page_multiples = is_new && state->disable_large_size_classes;
    state->by_clock = is_new && state->experimental_tcache_gc;
    state->top = FIRST_TOP;
    jemalloc_fill_slabs(state);
    jemalloc_fill_capacities(state);
    jemalloc_fill_shares(state);
    uint64_t most = state->tcache_nslots_large;
    for (uint32_t class = 0; class < state->classes; class++)
        most = state->capacities[class] > most ? state->capacities[class] : most;
    state->flushed = calloc(most, sizeof *state->flushed);
    state->emptied = calloc(most, sizeof *state->emptied);
    state->arenas = calloc(state->narenas + 1, sizeof *state->arenas);
    return state->flushed != NULL && state->emptied != NULL && state->arenas != NULL;
}

static void release_all(void *memory)
{
    struct jemalloc *state = memory;
    for (uint32_t number = 0; number < state->thread_count; number++)
        if (state->threads[number] != NULL)
            jemalloc_release_thread(state, number);
    for (uint64_t i = 0; state->arenas != NULL && i <= state->narenas; i++) {
        if (state->arenas[i] != NULL)
            table_release(state->arenas[i]->metadata.blocks);
        free(state->arenas[i]);
    }
    for (uint32_t i = 1; i < state->extents.used; i++)
        free(state->extents.at[i].regions);
    free(state->arenas);
    table_release(state->threads);
    table_release(state->extents.at);
    table_release(state->mappings);
    table_release(state->leaves);
    free(state->flushed);
    free(state->emptied);
}

static const char *const versions[] = {[V5_3_0] = "5.3.0", [V5_3_1] = "5.3.1"};

#define SWITCH_PARAMETER(field) PARAMETER(struct jemalloc, field, 0, 1)
#define ANY_PARAMETER(field) PARAMETER(struct jemalloc, field, 0, UINT64_MAX)
#define SPANS_PARAMETER(field)                                                                   \
    ANY_PARAMETER(field[0]), ANY_PARAMETER(field[1]), ANY_PARAMETER(field[2]),                   \
        ANY_PARAMETER(field[3]), ANY_PARAMETER(field[4]), ANY_PARAMETER(field[5]),               \
        ANY_PARAMETER(field[6]), ANY_PARAMETER(field[7])

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct jemalloc, version, versions),
    PARAMETER(struct jemalloc, cores, 1, 1 << 12),
    PARAMETER(struct jemalloc, narenas, 1, 1 << 14),
    ANY_PARAMETER(dirty_decay_ms),
    ANY_PARAMETER(muzzy_decay_ms),
    SWITCH_PARAMETER(tcache),
    SIZE_PARAMETER(struct jemalloc, tcache_max),
    ANY_PARAMETER(lg_tcache_nslots_mul),
    PARAMETER(struct jemalloc, tcache_nslots_small_min, 1, 8191),
    PARAMETER(struct jemalloc, tcache_nslots_small_max, 1, 8191),
    PARAMETER(struct jemalloc, tcache_nslots_large, 1, 8191),
    UNIT_PARAMETER(struct jemalloc, tcache_gc_incr_bytes),
    SWITCH_PARAMETER(experimental_tcache_gc),
    SIZE_PARAMETER(struct jemalloc, oversize_threshold),
    PARAMETER(struct jemalloc, lg_extent_max_active_fit, 0, 63),
    SWITCH_PARAMETER(retain),
    SWITCH_PARAMETER(background_thread),
    SWITCH_PARAMETER(disable_large_size_classes),
    SIZE_PARAMETER(struct jemalloc, calloc_madvise_threshold),
    SWITCH_PARAMETER(cache_oblivious),
    SIZE_PARAMETER(struct jemalloc, tick),
    SWITCH_PARAMETER(cxx_pool),
    SWITCH_PARAMETER(stats),
    ANY_PARAMETER(started_threads),
    ANY_PARAMETER(seed),
    ANY_PARAMETER(dirty_seed),
    ANY_PARAMETER(muzzy_seed),
    SPANS_PARAMETER(slab_sizes),
    SPANS_PARAMETER(tcache_ncached_max),
};

const struct family jemalloc = {
    .name = "jemalloc",
    .state_size = sizeof(struct jemalloc),
    PARAMETERS(parameters),
    .init = init,
    .release = release_all,
    .next_layer = next_layer,
    .check = jemalloc_check,
    .blocks_an_event = 32,
    .cached = jemalloc_count_cached,
    .columns = COLUMN_ALIGNMENT | COLUMN_THREAD | COLUMN_TIME,
    .needs_columns_only = true,
    .writes_itself = true,
    .end_thread = end_thread,
    FIGURES(figure_names),
    .report = jemalloc_report,
    .locate = jemalloc_locate,
};
