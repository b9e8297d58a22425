/* glibc's malloc (policy/families/ptmalloc.md): the functions that a program calls. */
#include "families/ptmalloc/cache.h"
#include "families/ptmalloc/lists.h"
#include "layers/define_layer.h"

/* Selects the thread of the request. Returns false, with the heap's failure set, if memory is
 * exhausted. */
static bool enter(struct ptmalloc *state)
{
    if (LIKELY(state->thread != NULL && state->thread_number == state->heap.request.thread))
        return true;
    return threads_switch(state);
}

/* Selects the thread of a free or a realloc. Returns false, with the heap's failure set, if memory
 * is exhausted or if live blocks of the first heap still wait. */
static bool enter_begun(struct ptmalloc *state)
{
    if (UNLIKELY(blocks_wait(state))) {
        heap_fail(&state->heap, ptmalloc_not_live);
        return false;
    }
    return enter(state);
}

static uint64_t asked_bytes(const struct ptmalloc *state)
{
    return state->heap.request.size * state->heap.setting.scale;
}

uint32_t ptmalloc_find(struct ptmalloc *state, struct arena *arena, uint64_t size,
                       uint64_t *visited)
{
    uint32_t id = search_arena(state, arena, size, visited);
    if (id == NO_BLOCK && arena->number > 0 && state->heap.failure == NULL)
        id = search_arena(state, state->arenas[0], size, visited);
    return id;
}

/* Searches the arena of the thread for an ordinary request of `requested` bytes. */
static uint32_t find_for_thread(struct ptmalloc *state, uint64_t size, uint64_t requested,
                                uint64_t *visited)
{
    struct arena *arena = threads_arena(state, requested);
    return arena == NULL ? NO_BLOCK : ptmalloc_find(state, arena, size, visited);
}

/* Allocates a block without a search of the thread's cache. */
static NEVER_INLINE uint32_t allocate_uncached(struct ptmalloc *state, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = find_for_thread(state, size, asked_bytes(state), &visited);
    count_search(&state->heap, visited);
    return id == NO_BLOCK ? NO_BLOCK : use_whole(state, id);
}

/* Serves an allocation of the program, or of a realloc whose arena cannot hold the new block. */
ALWAYS_INLINE uint32_t allocate_plain(struct ptmalloc *state, uint64_t size)
{
    if (!has_cache_to_allocate(state))
        return NO_BLOCK;
    uint32_t id = cache_take(state, size);
    if (id == NO_BLOCK)
        return allocate_uncached(state, size);
    count_search(&state->heap, 1);
    return use_whole(state, id);
}

/* Returns the bytes from the start of an arena's top that may have been written before. */
static uint64_t used_of_top(const struct ptmalloc *state, const struct arena *arena)
{
    if (arena->top == NO_BLOCK || arena->number == 0)
        return size_of(state, arena->top);
    const struct arena_heap *last = &arena->heaps[arena->heap_count - 1];
    return last->base + last->ever - state->heap.blocks[arena->top].address;
}

/* Serves a request for zeroed memory. Does not write memory that this call obtained from the
 * system. */
static uint32_t allocate_zeroed(struct ptmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (!has_cache_to_allocate(state))
        return NO_BLOCK;
    uint64_t visited = 1;
    uint32_t id = NO_BLOCK;
    if (state->version >= GLIBC_2_41)
        id = cache_take(state, size);
    if (id != NO_BLOCK) {
        write_object(state, id, size);
    } else {
        visited = 0;
        struct arena *arena = threads_arena(state, asked_bytes(state));
        if (arena == NULL)
            return NO_BLOCK;
        uint64_t top = arena->top == NO_BLOCK ? UINT64_MAX : heap->blocks[arena->top].address;
        uint64_t used = used_of_top(state, arena);
        id = ptmalloc_find(state, arena, size, &visited);
        if (id == NO_BLOCK)
            return NO_BLOCK;
        uint64_t written = size_of(state, id);
        if (heap->blocks[id].address == top && written > used)
            written = used;
        if (!is_mapped(state, id))
            write_object(state, id, written);
    }
    count_search(heap, visited);
    return use_whole(state, id);
}

/* Frees a part that memalign cuts off a block. */
static void free_cut(struct ptmalloc *state, uint32_t id)
{
    if (state->version < GLIBC_2_41)
        ptmalloc_free_own(state, id);
    else
        search_merge_and_trim(state, id);
}

/* Cuts the block that was found for an aligned request to `size` bytes at `place`. */
static uint32_t cut_to(struct ptmalloc *state, uint32_t id, uint64_t place, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t front = place - heap->blocks[id].address;
    if (front > 0) {
        uint32_t high = split(state, id, front);
        if (is_mapped(state, high))
            heap->blocks[id].index_slot = STATE_WASTE;
        else
            free_cut(state, id);
        id = high;
    }
    uint64_t rest = size_of(state, id) - size;
    uint64_t minimum = heap->setting.minimum;
    if (!is_mapped(state, id) &&
        (rest > minimum || (rest == minimum && state->version > GLIBC_2_36)))
        free_cut(state, split(state, id, size));
    return id;
}

/* Serves a request with a larger alignment than every block has. */
static uint32_t allocate_aligned_block(struct ptmalloc *state, uint64_t size, uint64_t alignment)
{
    struct heap *heap = &state->heap;
    uint64_t minimum = heap->setting.minimum, payload = 2 * state->word;
    if (alignment < minimum)
        alignment = minimum;
    alignment = UINT64_C(1) << (64 - __builtin_clzll(alignment - 1));
    uint64_t visited = 1;
    uint32_t id = NO_BLOCK;
    if (state->version >= GLIBC_2_41)
        id = cache_take_aligned(state, size, alignment);
    if (id == NO_BLOCK) {
        visited = 0;
        uint64_t requested = size + alignment + minimum - (state->word == 0);
        id = find_for_thread(state, overhead_gross(&heap->setting, requested), requested, &visited);
        if (id == NO_BLOCK)
            return NO_BLOCK;
        uint64_t begin = heap->blocks[id].address;
        uint64_t place = round_up(begin + payload, alignment) - payload;
        bool anywhere = is_mapped(state, id) && state->version >= GLIBC_2_43;
        if (place > begin && place - begin < minimum && !anywhere)
            place += alignment;
        id = cut_to(state, id, place, size);
    }
    count_search(heap, visited);
    return use_whole(state, id);
}

static NEVER_INLINE uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    if (!enter(state))
        return NO_BLOCK;
    if (UNLIKELY(blocks_wait(state)))
        return ptmalloc_give_waiting(state, size);
    if (UNLIKELY(heap->request.alignment > state->served))
        return allocate_aligned_block(state, size, heap->request.alignment);
    if (UNLIKELY(heap->request.is_zeroed))
        return allocate_zeroed(state, size);
    return allocate_plain(state, size);
}

/* Returns whether small lists serve a size, for the thread of the request. */
ALWAYS_INLINE bool is_quick(const struct ptmalloc *state, uint64_t size)
{
    return size <= state->quick_max && state->thread_number == state->heap.request.thread;
}

/* Allocates a block for a request that has only a size. */
ALWAYS_INLINE uint32_t allocate_sized(struct heap *heap, uint64_t size)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    if (UNLIKELY(!is_quick(state, size)))
        return allocate(heap, size);
    struct chain *list = &state->cache->small[size];
    uint32_t id = list->newest;
    if (UNLIKELY(id == NO_BLOCK))
        return allocate_uncached(state, size);
    cache_remove(state, list, id);
    count_search(heap, 1);
    return use_whole(state, id);
}

void ptmalloc_release(struct ptmalloc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    if (is_mapped(state, id)) {
        memory_unmap(state, id);
    } else if (size_of(state, id) <= state->mxfast) {
        unmerged_put(heap, &state->tables.links, &arena_of(state, id)->fast, id);
        heap_touch(heap, heap->blocks[id].address + 2 * state->word, state->word);
    } else {
        search_merge_and_trim(state, id);
    }
}

void ptmalloc_free_own(struct ptmalloc *state, uint32_t id)
{
    if (state->version >= GLIBC_2_43)
        search_merge_and_trim(state, id);
    else if (cache_has_room(state, size_of(state, id)))
        cache_put(state, id);
    else
        ptmalloc_release(state, id);
}

/* Makes the thread's cache before a free, if the release makes it then. Returns false, with the
 * heap's failure set, if the cache cannot be made. */
static bool prepare_to_free(struct ptmalloc *state, uint32_t id)
{
    if (LIKELY(state->cache != NULL))
        return true;
    bool due = state->version >= GLIBC_2_43 ? chunk_size(state, id) <= state->tcache_max
                                            : !is_mapped(state, id);
    return !due || threads_make_cache(state);
}

static NEVER_INLINE void release(struct heap *heap, uint32_t id)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    if (!enter_begun(state) || !prepare_to_free(state, id))
        return;
    heap->counters.allocated -= size_of(state, id);
    bool is_kept = state->version >= GLIBC_2_43 || !is_mapped(state, id);
    if (is_kept && cache_has_room(state, chunk_size(state, id)))
        cache_put(state, id);
    else
        ptmalloc_release(state, id);
}

/* Frees a block. Tries the most frequent case first: a small block that enters the thread's
 * cache. */
ALWAYS_INLINE void release_quickly(struct heap *heap, uint32_t id)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    uint64_t size = size_of(state, id);
    if (UNLIKELY(!is_quick(state, size) || is_mapped(state, id))) {
        release(heap, id);
        return;
    }
    heap->counters.allocated -= size;
    struct chain *list = &state->cache->small[size];
    if (UNLIKELY(list->count >= state->tcache_count)) {
        ptmalloc_release(state, id);
        return;
    }
    chain_push(&state->tables.links, list, id);
    count_cached(state, id);
}

/* Extends a block into the free block above it. Returns false if both together are too small. */
static bool take_above(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    struct arena *arena = arena_of(state, id);
    uint32_t above = heap->blocks[id].next;
    uint64_t have = size_of(state, id), both = have + size_of(state, above);
    if (!heap_is_free(heap, above) || both < size)
        return false;
    if (above == arena->top) {
        if (both < size + state->keep)
            return false;
        above = search_use_top(state, arena, size - have);
    } else {
        take_out(state, arena, above);
    }
    use_whole(state, above);
    heap_join_next(heap, id);
    return true;
}

/* Frees the part of a block beyond `size` if that part is large enough for a block. */
static uint32_t cut_rest(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    uint64_t over = size_of(state, id) - size;
    if (over >= state->heap.setting.minimum) {
        state->heap.counters.allocated -= over;
        ptmalloc_free_own(state, split(state, id, size));
    }
    return id;
}

/* Returns whether a realloc leaves the block unchanged: the block has at least `size` bytes, and
 * its excess is less than 16 bytes. */
static bool fits(const struct ptmalloc *state, uint32_t id, uint64_t size)
{
    uint64_t have = size_of(state, id);
    if (state->version < GLIBC_2_41 || have < size || have - size >= 16)
        return false;
    return state->word == 0 || have - state->word - asked_bytes(state) < 16;
}

/* Finds another block, preferably in the arena of the old block. Joins the old block to it or frees
 * the old block. */
static uint32_t move(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t visited = 0;
    uint32_t other = search_arena(state, arena_of(state, id), size, &visited);
    if (other != NO_BLOCK) {
        use_whole(state, other);
        count_search(heap, visited);
    } else if (heap->failure == NULL) {
        other = allocate_plain(state, size);
    }
    if (other == NO_BLOCK)
        return NO_BLOCK;
    if (heap->blocks[id].next == other) {
        heap_join_next(heap, id);
        return cut_rest(state, id, size);
    }
    uint64_t old = size_of(state, id);
    heap_touch(heap, heap->blocks[other].address + 2 * state->word, old - state->word);
    heap->counters.allocated -= old;
    ptmalloc_free_own(state, id);
    return other;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    if (!enter_begun(state))
        return NO_BLOCK;
    if (is_mapped(state, id))
        return memory_remap(state, id, size);
    if (fits(state, id, size))
        return id;
    if (!has_cache_to_allocate(state))
        return NO_BLOCK;
    if (size_of(state, id) >= size || take_above(state, id, size))
        return cut_rest(state, id, size);
    return move(state, id, size);
}

/* Returns the whole pages inside the free blocks of a segment to the system, except headers and the
 * top. */
static void discard_free(struct ptmalloc *state, const struct arena *arena, uint32_t edge)
{
    const struct block *blocks = state->heap.blocks;
    for (uint32_t id = blocks[edge].next; id != edge; id = blocks[id].next) {
        uint64_t end = blocks[id].address + blocks[id].size;
        uint64_t begin = round_up(blocks[id].address + 6 * state->word, state->growth);
        if (heap_is_free(&state->heap, id) && id != arena->top && begin < end)
            heap_discard(&state->heap, begin, end - begin);
    }
}

static void give_back(struct heap *heap)
{
    struct ptmalloc *state = ptmalloc_of(heap);
    if (!enter(state))
        return;
    for (uint32_t i = 0; i < state->arena_count; i++) {
        struct arena *arena = state->arenas[i == 0 ? 0 : state->arena_count - i];
        search_consolidate(state, arena);
        if (i == 0)
            discard_free(state, arena, NO_BLOCK);
        for (uint32_t k = 0; k < arena->heap_count; k++)
            discard_free(state, arena, arena->heaps[k].edge);
    }
    memory_give_back_top(state);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && threads_reserve(ptmalloc_of(heap));
}

DEFINE_INLINED_LAYER(ptmalloc, true, allocate_sized, release_quickly, reserve,
                     .allocate = allocate, .release = release, .reallocate = reallocate_block)
DEFINE_NEXT_LAYER(ptmalloc)

static bool init(void *memory)
{
    struct ptmalloc *state = memory;
    struct heap *heap = &state->heap;
    const struct setting *setting = &heap->setting;
    bool new_layout = state->version >= GLIBC_2_43;
    uint64_t word = setting->mechanism ? setting->word : 0;
    uint64_t fields = new_layout ? 261 * word + 24 : 271 * word + 32;
    state->word = word;
    state->keep = word > 0 ? setting->minimum : 0;
    state->small_below = setting->word == 4 ? 1008 : 1024;
    state->small_cached = 16 * 63 + 4 * setting->word;
    state->stashed_max = UINT64_MAX;
    if (new_layout)
        state->stashed_max =
            state->tcache_max < state->small_cached ? state->tcache_max : state->small_cached;
    state->served = word > 0 ? 16 : 1;
    state->table_size = word > 0 ? (new_layout ? 76 : 64) * (word + 2) : 0;
    state->heap_info = round_up(6 * word, 16);
    state->arena_info = word > 0 ? round_up(6 * word + fields, 16) : 0;
    state->arena_first = word > 0 ? 6 * word + fields + 16 : 0;
    state->heap_max = HEAP_SIZE - HEAP_SIZE % state->growth;
    heap->reported_arenas =
        state->most_arenas < setting->threads ? state->most_arenas : setting->threads;
    return true;
}

static void release_all(void *memory)
{
    struct ptmalloc *state = memory;
    threads_release(state);
}

static const char *const versions[] = {"2.36", "2.41", "2.43", "2.44"};

static const char *const figures[] = {"arenas", "mapped", "resident_mapped", "resident_total"};
static const char *const lists[] = {"system", "attached", "resident"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct ptmalloc, version, versions),
    PARAMETER(struct ptmalloc, arena_max, 0, 1 << 16),
    PARAMETER(struct ptmalloc, arena_test, 1, 1 << 16),
    PARAMETER(struct ptmalloc, cores, 1, 1 << 13),
    PARAMETER(struct ptmalloc, tcache_count, 0, 1 << 16),
    SIZE_PARAMETER(struct ptmalloc, tcache_max),
    SIZE_PARAMETER(struct ptmalloc, mxfast),
    SIZE_PARAMETER(struct ptmalloc, top_pad),
    SIZE_PARAMETER(struct ptmalloc, trim_threshold),
    SIZE_PARAMETER(struct ptmalloc, mmap_threshold),
    SIZE_PARAMETER(struct ptmalloc, mmap_max),
    PARAMETER(struct ptmalloc, adjusts, 0, 1),
    PARAMETER(struct ptmalloc, most_arenas, 1, (1 << 16) + 1),
    PARAMETER(struct ptmalloc, growth, 1, 1 << HEAP_BITS),
};

const struct family ptmalloc = {
    .name = "ptmalloc",
    .state_size = sizeof(struct ptmalloc),
    PARAMETERS(parameters),
    .columns = COLUMN_ALIGNMENT | COLUMN_THREAD,
    .needs_columns_only = true,
    .writes_itself = true,
    .blocks_an_event = 24,
    .init = init,
    .release = release_all,
    .next_layer = next_layer,
    .begin_with = ptmalloc_begin_with,
    .end_thread = threads_end,
    .give_back = give_back,
    FIGURES(figures),
    LISTS(lists),
    .report = ptmalloc_report,
    .locate = ptmalloc_locate,
    .check = ptmalloc_check,
    .cached = ptmalloc_cached,
};
