/* gperftools' tcmalloc (policy/families/tcmalloc.md). */
#include "families/tcmalloc/tcmalloc.h"

#include "layers/define_layer.h"
#include "space/residence.h"

enum {
    SMALLEST = 1,     /* class of a request for one byte */
    IDLE_RECORDS = 2, /* span records that are made first and shift all others within cache lines */
    BLOCKS_AN_EVENT = 16,
    POOL_OF_EXCEPTIONS = 72704, /* bytes that the C++ library allocates when it is loaded */
    THREAD_BLOCK = 304,         /* bytes that the C library allocates for each started thread */
};

static struct tcmalloc *state_of(struct heap *heap)
{
    return (struct tcmalloc *)heap;
}

bool tcmalloc_reserve(struct tcmalloc *state, uint64_t blocks)
{
    struct heap *heap = &state->heap;
    if (!heap_reserve_more(heap, blocks))
        return false;
    return heap_needs(heap, links_reserve(&state->links, heap->capacity));
}

/* Allocates a block that is never freed. */
static void keep(struct tcmalloc *state, struct thread_cache *cache, uint64_t size)
{
    uint32_t class = tcmalloc_class_of(&state->table, size);
    uint32_t id = cache == NULL ? NO_BLOCK : tcmalloc_take(state, cache, class);
    if (id != NO_BLOCK)
        heap_mark(&state->heap, id, STATE_TABLE);
}

/* Simulates the start of 2.10, which allocates and frees blocks. Its first cache afterwards belongs
 * to no thread. */
static void start_old(struct tcmalloc *state)
{
    keep(state, tcmalloc_add_cache(state), POOL_OF_EXCEPTIONS);
    struct run byte = tcmalloc_fetch(state, SMALLEST, 1);
    if (byte.count == 0)
        return;
    tcmalloc_insert(state, SMALLEST, byte);
    struct thread_cache *cache = tcmalloc_make_cache(state, 0);
    keep(state, cache, 8);
    keep(state, cache, 16);
}

/* Simulates the start of later releases, which free a one-byte object to the central free list and
 * another one into the cache. */
static void start_new(struct tcmalloc *state)
{
    struct thread_cache *cache = tcmalloc_make_cache(state, 0);
    keep(state, cache, POOL_OF_EXCEPTIONS);
    uint32_t id = cache == NULL ? NO_BLOCK : tcmalloc_take(state, cache, SMALLEST);
    if (id == NO_BLOCK)
        return;
    tcmalloc_insert(state, SMALLEST, (struct run){.first = id, .count = 1});
    id = tcmalloc_take(state, cache, SMALLEST);
    if (id != NO_BLOCK)
        tcmalloc_give(state, cache, SMALLEST, id);
}

/* Simulates the allocations and frees before the program's first call. */
static void start_program(struct tcmalloc *state)
{
    struct heap *heap = &state->heap;
    state->is_started = true;
    if (!heap->setting.mechanism)
        return;
    for (int i = 0; i < IDLE_RECORDS; i++)
        tcmalloc_take_record(state, &state->metadata.spans, SPAN_RECORD);
    if (state->version == VERSION_2_10)
        start_old(state);
    else
        start_new(state);
    for (uint64_t i = 0; i < heap->setting.other_threads && heap->failure == NULL; i++)
        if (tcmalloc_reserve(state, BLOCKS_AN_EVENT))
            keep(state, tcmalloc_cache_of(state, 0), THREAD_BLOCK);
    if (heap->has_refused && heap->failure == NULL)
        heap_exhaust(heap);
}

/* Allocates a block of a class, or a span. */
static uint32_t take(struct tcmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t thread = heap->request.thread;
    struct thread_cache *cache = tcmalloc_cache_of(state, thread);
    if (UNLIKELY(cache == NULL)) {
        cache = tcmalloc_make_cache(state, thread);
        if (cache == NULL)
            return NO_BLOCK;
    }
    if (LIKELY(size <= LARGEST))
        return tcmalloc_take(state, cache, tcmalloc_class_of(&state->table, size));
    uint32_t id = tcmalloc_allocate_span(state, (size + state->page - 1) / state->page);
    if (id != NO_BLOCK)
        heap->blocks[id].family_data = SPAN_USED;
    return id;
}

/* Allocates a larger span than needed, and frees its excess pages on both sides. */
static uint32_t take_aligned(struct tcmalloc *state, uint64_t size, uint64_t alignment)
{
    struct heap *heap = &state->heap;
    uint64_t page = state->page;
    uint64_t needed = (size + page - 1) / page;
    uint32_t id = tcmalloc_allocate_span(state, (size + alignment + page - 1) / page);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t start = state->heap_start + heap->blocks[id].address;
    uint64_t skipped = (round_up(start, alignment) - start) / page;
    if (skipped > 0) {
        uint32_t aligned = tcmalloc_split_span(state, id, skipped);
        tcmalloc_free_span(state, id);
        id = aligned;
    }
    if (heap->blocks[id].size > needed * page)
        tcmalloc_free_span(state, tcmalloc_split_span(state, id, needed));
    heap->blocks[id].family_data = SPAN_USED;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct tcmalloc *state = state_of(heap);
    const struct request *request = &heap->request;
    if (UNLIKELY(!state->is_started))
        start_program(state);
    state->visited = 0;
    uint32_t id;
    if (LIKELY(request->alignment <= 1))
        id = take(state, size);
    else if (request->alignment <= state->page)
        id = take(state, round_up(size, request->alignment));
    else
        id = take_aligned(state, size, request->alignment);
    if (UNLIKELY(id == NO_BLOCK || heap->failure != NULL))
        return NO_BLOCK;
    heap_mark(heap, id, STATE_ALLOCATED);
    if (request->is_zeroed)
        heap_touch(heap, heap->blocks[id].address, size);
    count_search(heap, state->visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct tcmalloc *state = state_of(heap);
    uint32_t number = heap->blocks[id].family_data;
    if (UNLIKELY(number == SPAN_USED)) {
        tcmalloc_free_span(state, id);
        return;
    }
    uint32_t class = state->spans.of[number].class;
    struct thread_cache *cache = tcmalloc_cache_of(state, heap->request.thread);
    if (LIKELY(cache != NULL)) {
        tcmalloc_give(state, cache, class, id);
    } else {
        heap_mark(heap, id, STATE_CACHED);
        tcmalloc_insert(state, class, (struct run){.first = id, .count = 1});
    }
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct tcmalloc *state = (const struct tcmalloc *)heap;
    if (size > LARGEST)
        return round_up(size, state->page);
    return state->table.classes[tcmalloc_class_of(&state->table, size)].size;
}

/* Returns whether a realloc keeps the block in place. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    uint64_t held = heap->blocks[id].size;
    if (state_of(heap)->version == VERSION_2_10)
        return held / 2 <= size && size <= held;
    return rounded(heap, size) == held;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct tcmalloc *state = state_of(heap);
    uint64_t held = heap->blocks[id].size;
    uint64_t wanted = size;
    if (resize(heap, id, size))
        return id;
    state->visited = 0;
    if (state->version == VERSION_2_10 && held < size && size < held + held / 4)
        wanted = held + held / 4;
    uint32_t other = take(state, wanted);
    if (other == NO_BLOCK)
        return NO_BLOCK;
    heap_mark(heap, other, STATE_ALLOCATED);
    heap_touch(heap, heap->blocks[other].address, held < size ? held : size);
    release(heap, id);
    count_search(heap, state->visited);
    return other;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && links_reserve(&state_of(heap)->links, heap->capacity);
}

DEFINE_ONLY_LAYER(tcmalloc, true, allocate, release, reserve, .resize = resize,
                  .reallocate = reallocate_block, .rounded = rounded)

static void end_thread(struct heap *heap)
{
    tcmalloc_end_thread(state_of(heap), heap->request.thread);
}

static void give_back(struct heap *heap)
{
    tcmalloc_release_spans(state_of(heap), UINT64_MAX);
}

static bool init(void *memory)
{
    struct tcmalloc *state = memory;
    tcmalloc_classes_init(&state->table, state->page, state->transfer_num_obj);
    tcmalloc_central_lists_init(state);
    tcmalloc_caches_init(state);
    return tcmalloc_page_heap_init(state);
}

static void release_all(void *memory)
{
    struct tcmalloc *state = memory;
    tcmalloc_caches_release(state);
    tcmalloc_central_lists_release(state);
    tcmalloc_page_heap_release(state);
    links_release(&state->links);
}

/* Returns the number of blocks in thread caches and transfer caches. */
static uint64_t cached(const void *memory)
{
    const struct tcmalloc *state = memory;
    uint64_t blocks = 0;
    for (uint32_t class = 1; class < state->table.count; class++)
        blocks += state->central_lists[class].used_slots *
                  (uint64_t)state->table.classes[class].move;
    for (const struct thread_cache *cache = state->caches.newest; cache; cache = cache->older)
        for (uint32_t class = 1; class < state->table.count; class++)
            blocks += cache->lists[class].count;
    return blocks;
}

static const char *check(const void *memory)
{
    const struct tcmalloc *state = memory;
    uint64_t blocks = 0;
    const char *wrong = heap_check(&state->heap);
    if (wrong == NULL)
        wrong = tcmalloc_page_heap_check(state, &blocks);
    if (wrong == NULL)
        wrong = tcmalloc_central_lists_check(state, &blocks);
    if (wrong == NULL)
        wrong = tcmalloc_caches_check(state);
    if (wrong == NULL && blocks != state->heap.counters.free_blocks)
        wrong = "the free blocks are miscounted";
    return wrong;
}

static const char *const figure_names[] = {"heap",   "ph_free",  "ph_returned", "thread_caches",
                                           "centre", "transfer", "metadata"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct tcmalloc *state = (const struct tcmalloc *)heap;
    uint64_t cached_bytes = 0, central = 0, transfer = 0;
    for (const struct thread_cache *cache = state->caches.newest; cache; cache = cache->older)
        cached_bytes += cache->size;
    for (uint32_t class = 1; class < state->table.count; class++) {
        const struct size_class *kind = &state->table.classes[class];
        const struct central_free_list *of = &state->central_lists[class];
        uint64_t tail = kind->pages * state->page - kind->blocks * (uint64_t)kind->size;
        central += of->free_blocks * kind->size + of->spans * tail;
        transfer += of->used_slots * (uint64_t)kind->move * kind->size;
    }
    const uint64_t values[] = {
        state->page_heap.system * state->page,
        state->page_heap.free[0] * state->page,
        state->page_heap.free[1] * state->page,
        cached_bytes,
        central,
        transfer,
        state->metadata.taken,
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        figures[i] = values[i];
}

/* Locates an object relative to the start of the first memory for spans. */
static void locate(const struct heap *heap, uint32_t id, struct location *location)
{
    uint64_t start = heap->setting.mechanism ? METADATA_PIECE : 0;
    location->offset = (int64_t)(heap->blocks[id].address - start);
}

static const char *const version_names[] = {[VERSION_2_10] = "2.10", [VERSION_2_18] = "2.18"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct tcmalloc, version, version_names),
    PARAMETER(struct tcmalloc, page, 4096, 256 * 1024),
    PARAMETER(struct tcmalloc, release_rate, 0, UINT64_C(1000000000000)),
    PARAMETER(struct tcmalloc, aggressive_decommit, 0, 1),
    SIZE_PARAMETER(struct tcmalloc, max_total_thread_cache_bytes),
    PARAMETER(struct tcmalloc, transfer_num_obj, 2, 128),
    PARAMETER(struct tcmalloc, heap_limit_mb, 0, 1 << 24),
    SIZE_PARAMETER(struct tcmalloc, heap_start),
};

const struct family tcmalloc = {
    .name = "tcmalloc",
    FAMILY_OF(struct tcmalloc),
    FIGURES(figure_names),
    .columns = COLUMN_ALIGNMENT | COLUMN_THREAD,
    .needs_columns_only = true,
    .writes_itself = true,
    .blocks_an_event = BLOCKS_AN_EVENT,
    .end_thread = end_thread,
    .give_back = give_back,
    .report = report,
    .locate = locate,
    .cached = cached,
};
