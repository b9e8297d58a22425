#include "families/jemalloc/threads.h"

/* minimum bytes of an extent that arena 0 of 5.3.0 purges immediately */
#define EAGER_FROM (UINT64_C(8) << 20)
#define DECAY_SEED_STEP (UINT64_C(1) << 21) /* difference of the seeds of two successive arenas */
#define THREAD_SEED_STEP (UINT64_C(1) << 23)

/* Sizes of metadata in bytes. */
struct table_sizes {
    uint64_t arena;      /* bytes of each arena */
    uint64_t program;    /* further bytes in the first arena */
    uint64_t statistics; /* bytes of each statistics table, made by the first mallctl */
    uint64_t control;    /* further bytes made by the first mallctl */
    uint64_t lost;   /* bytes lost to alignment between the tables of mallctl and the first cache */
    uint64_t unread; /* bytes of mallctl's tables that are never written without decay by time */
    uint64_t gap;    /* index of the arena's page that only large statistics write */
    /* index of the arena's page that is never written; equal to `gap` if every other page is
     * written */
    uint64_t hole;
};

static const struct table_sizes table_sizes[] = {
    [V5_3_0] = {91152, 1704, 37856, 32776, 128, 69632, 2, 19},
    [V5_3_1] = {92880, 1592, 41136, 32776, 0, 0, 2, 2},
};

ALWAYS_INLINE bool has_huge_arena(const struct jemalloc *state)
{
    return state->oversize_threshold >= SMALLEST_LARGE;
}

/* Writes `size` bytes of an arena, except holes and the pages that only statistics write. */
static void write_arena(struct jemalloc *state, uint64_t address, uint64_t size)
{
    const struct table_sizes *sizes = &table_sizes[state->version];
    uint64_t after_gap = (sizes->gap + 1) * PAGE;
    uint64_t after_hole = (sizes->hole + 1) * PAGE;
    heap_touch(&state->heap, address, sizes->gap * PAGE);
    if (sizes->hole != sizes->gap)
        heap_touch(&state->heap, address + after_gap, sizes->hole * PAGE - after_gap);
    heap_touch(&state->heap, address + after_hole, size - after_hole);
}

/* Makes the tables of the first mallctl, one for each possible arena. Returns false if memory is
 * exhausted. */
static bool start_statistics(struct jemalloc *state, struct metadata *tables)
{
    const struct table_sizes *sizes = &table_sizes[state->version];
    uint64_t untouched = (int64_t)state->dirty_decay_ms > 0 ? 0 : sizes->unread;
    uint64_t at_once = sizes->control + (has_huge_arena(state) ? 4 : 3) * sizes->statistics;
    struct table_block *block = &tables->blocks[0];
    tables->allocated += at_once;
    block->used += at_once;
    heap_touch(&state->heap, block->address, block->used - untouched);
    block->used += state->tcache ? sizes->lost : 0;
    for (uint64_t i = 1; i < state->narenas; i++) {
        uint64_t address = jemalloc_allocate_table(state, tables, sizes->statistics, TABLE_QUANTUM);
        if (address == 0)
            return false;
        heap_touch(&state->heap, address, sizeof(uint64_t));
    }
    return true;
}

/* Makes the first block of an arena's metadata. Returns false if memory is exhausted. */
static bool start_tables(struct jemalloc *state, struct arena *arena)
{
    const struct table_sizes *sizes = &table_sizes[state->version];
    if (!state->heap.setting.mechanism)
        return true;
    struct table_block *block = jemalloc_add_table_block(state, &arena->metadata, HUGE_PAGE);
    if (block == NULL)
        return false;
    block->used = sizes->arena + (arena->number == 0 ? sizes->program : 0);
    arena->metadata.allocated = block->used;
    if (!state->stats) {
        write_arena(state, block->address, block->used);
        return true;
    }
    heap_touch(&state->heap, block->address, block->used);
    return arena->number > 0 || start_statistics(state, &arena->metadata);
}

/* Makes an arena. Returns NULL, with the heap's failure set, if memory is exhausted. */
static NEVER_INLINE struct arena *add_arena(struct jemalloc *state, uint32_t number)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (!heap_needs(&state->heap, arena != NULL))
        return NULL;
    bool is_huge = number == state->narenas;
    int64_t dirty = (int64_t)state->dirty_decay_ms;
    int64_t muzzy = (int64_t)state->muzzy_decay_ms;
    arena->number = number;
    arena->next_mapping = HUGE_PAGE;
    arena->dirty.use = DIRTY;
    arena->dirty.most = state->lg_extent_max_active_fit;
    arena->muzzy.use = MUZZY;
    arena->muzzy.most = 63;
    arena->retained.use = RETAINED;
    arena->retained.most = 63;
    arena->eager_from = state->oversize_threshold;
    if (!has_huge_arena(state) || (number == 0 && state->version == V5_3_0))
        arena->eager_from = EAGER_FROM;
    bool at_once = is_huge && (state->version == V5_3_0 || !state->background_thread);
    jemalloc_decay_init(&arena->dirty_decay, at_once && dirty > 0 ? 0 : dirty,
               state->dirty_seed + number * DECAY_SEED_STEP, state->now);
    jemalloc_decay_init(&arena->muzzy_decay, at_once && muzzy > 0 ? 0 : muzzy,
               state->muzzy_seed + number * DECAY_SEED_STEP, state->now);
    state->arenas[number] = arena;
    return start_tables(state, arena) ? arena : NULL;
}

/* Returns the arena with the fewest threads, or a new arena if each has a thread. Returns NULL if
 * memory is exhausted. */
static struct arena *choose_arena(struct jemalloc *state)
{
    struct arena *least = state->arenas[0];
    uint32_t missing = 0;
    for (uint32_t number = 1; number < state->narenas; number++) {
        struct arena *arena = state->arenas[number];
        if (arena == NULL)
            missing = missing == 0 ? number : missing;
        else if (arena->threads < least->threads)
            least = arena;
    }
    return least->threads == 0 || missing == 0 ? least : add_arena(state, missing);
}

/* Returns the thread's arena, or the separate arena for an oversize request. Returns NULL if memory
 * is exhausted. */
ALWAYS_INLINE struct arena *arena_for(struct jemalloc *state, const struct thread *thread,
                                      uint64_t size)
{
    if (LIKELY(size < state->oversize_threshold) || !has_huge_arena(state))
        return thread->arena;
    struct arena *huge = state->arenas[state->narenas];
    return huge != NULL ? huge : add_arena(state, (uint32_t)state->narenas);
}

/* Records the bytes that calloc writes outside the cache. Small objects are written. Used pages of
 * large objects are written or purged. */
static void clear_object(struct jemalloc *state, uint32_t block)
{
    struct heap *heap = &state->heap;
    const struct extent *extent = extent_of(state, block);
    if (extent->regions != NULL)
        heap_touch(heap, heap->blocks[block].address, heap->blocks[block].size);
    else if (extent->is_zero)
        return;
    else if (state->version == V5_3_1 && extent->size < state->calloc_madvise_threshold)
        heap_touch(heap, extent->address, extent->size);
    else
        heap_discard(heap, extent->address, extent->size);
}

uint32_t jemalloc_allocate_from(struct jemalloc *state, struct thread *thread, struct arena *arena,
                                uint64_t usable, uint64_t alignment)
{
    uint32_t block = usable <= LARGEST_SMALL
                         ? jemalloc_allocate_small(state, arena, class_number(usable))
                         : jemalloc_allocate_large(state, arena, &thread->random, usable, alignment);
    if (block == NO_BLOCK)
        return NO_BLOCK;
    if (UNLIKELY(state->heap.request.is_zeroed))
        clear_object(state, block);
    tick(state, thread, arena, 1);
    return block;
}

uint32_t jemalloc_allocate_past_cache(struct jemalloc *state, struct thread *thread, uint64_t size,
                                      uint64_t usable, uint64_t alignment)
{
    struct arena *arena = arena_for(state, thread, size);
    return arena == NULL ? NO_BLOCK
                         : jemalloc_allocate_from(state, thread, arena, usable, alignment);
}

void jemalloc_free_past_cache(struct jemalloc *state, struct thread *thread, uint32_t block)
{
    struct arena *arena = arena_of(state, block);
    if (extent_of(state, block)->regions == NULL) {
        jemalloc_free_large(state, arena, block);
    } else {
        uint32_t slab = jemalloc_put_back(state, arena, block);
        if (slab != NO_EXTENT)
            jemalloc_free_extent(state, arena, slab);
    }
    tick(state, thread, arena, 1);
}

/* Makes a thread's cache, whose table is in arena 0. Returns false if memory or the capacity is
 * exhausted. */
static bool start_cache(struct jemalloc *state, struct thread *thread)
{
    uint64_t address = 0;
    if (state->heap.setting.mechanism) {
        uint64_t size = jemalloc_aligned_size(state, jemalloc_stacks_size(state), PAGE);
        thread->table = jemalloc_allocate_from(state, thread, state->arenas[0], size, PAGE);
        if (heap_need(&state->heap, thread->table) == NO_BLOCK)
            return false;
        heap_mark(&state->heap, thread->table, STATE_TABLE);
        address = state->heap.blocks[thread->table].address;
        heap_touch(&state->heap, address, 8);
        heap_touch(&state->heap, address + jemalloc_stacks_size(state) - 8, 8);
        state->internal += size;
    }
    return jemalloc_make_stacks(state, thread, address);
}

/* Starts a thread: makes its cache and chooses its arena. Returns false if memory or the capacity
 * is exhausted. */
static NEVER_INLINE bool start_thread(struct jemalloc *state, struct thread *thread)
{
    if (state->arenas[0] == NULL && add_arena(state, 0) == NULL)
        return false;
    if (state->tcache && !start_cache(state, thread))
        return false;
    thread->arena = choose_arena(state);
    if (thread->arena == NULL)
        return false;
    thread->arena->threads++;
    thread->freed = 0;
    return true;
}

/* Makes the data of a thread. Returns NULL, with the heap's failure set, if memory is exhausted. */
static NEVER_INLINE struct thread *add_thread(struct jemalloc *state, uint32_t number)
{
    bool has_room = TABLE_COVER(state->threads, state->thread_count, number);
    struct thread *thread = has_room ? calloc(1, sizeof *thread) : NULL;
    if (!heap_needs(&state->heap, thread != NULL))
        return NULL;
    thread->random.state = state->seed - number * THREAD_SEED_STEP;
    thread->ticks_left = TICKS;
    state->threads[number] = thread;
    return thread;
}

void jemalloc_release_thread(struct jemalloc *state, uint32_t number)
{
    jemalloc_release_stacks(state->threads[number]);
    free(state->threads[number]);
    state->threads[number] = NULL;
}

void jemalloc_look_at_all(struct jemalloc *state)
{
    for (uint64_t number = 0; number <= state->narenas; number++)
        if (state->arenas[number] != NULL)
            jemalloc_look(state, state->arenas[number]);
}

struct thread *jemalloc_find_thread(struct jemalloc *state, uint32_t number, bool allocates)
{
    struct thread *thread = number < state->thread_count ? state->threads[number] : NULL;
    if (thread == NULL && (thread = add_thread(state, number)) == NULL)
        return NULL;
    if (thread->arena != NULL)
        return thread;
    thread->early_frees += !allocates;
    if (!allocates && (state->version == V5_3_0 || thread->early_frees < FREES_BEFORE_CACHE))
        return thread;
    return start_thread(state, thread) ? thread : NULL;
}
