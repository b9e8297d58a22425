/* mimalloc 2: pages of blocks of one size, in segments that are cut into spans
 * (policy/families/mimalloc.md). */
#include "families/mimalloc2/mimalloc2.h"
#include "replay/replay.h"
#include "space/residence.h"
#include "space/table.h"

#include <stdlib.h>

enum {
    BLOCKS_AN_EVENT = 32,
    ALIGNED_UP_TO = 128, /* blocks of so many bytes are taken to be aligned as their size is */
    RECORD = 8192, /* what a thread but the main one has from the system for itself */
    RECORDS_KEPT = 8,
    THREAD_BLOCK = 288, /* that the C library allocates for each thread that it is to start */
};

static struct mimalloc2 *state_of(struct heap *heap)
{
    return (struct mimalloc2 *)heap;
}

/* Takes the block that comes next in a page. */
static uint32_t take(struct mimalloc2 *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    uint32_t id = page->free;
    page->free = heap->blocks[id].family_data;
    page->used++;
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = number;
    if (heap->request.is_zeroed)
        heap_touch(heap, heap->blocks[id].address, page->block_size);
    return id;
}

/* Frees what other threads have freed of a thread's pages, the newest first. */
static void take_delayed(struct mimalloc2 *state, struct theap *theap)
{
    struct heap *heap = &state->heap;
    while (theap->delayed_count > 0) {
        uint32_t id = theap->delayed[--theap->delayed_count];
        uint32_t number = heap->blocks[id].family_data;
        struct page *page = &state->pages[number];
        if (page->delayed == TELLS_PAGE)
            page->delayed = TELLS_OWNER;
        mi2_page_collect(heap, page);
        free_own(state, number, id);
    }
}

static NEVER_INLINE uint32_t allocate_generic(struct mimalloc2 *state, struct theap *theap,
                                              uint64_t size)
{
    uint64_t visited = 0;
    take_delayed(state, theap);
    uint32_t number = mi2_find_page(state, theap, size, &visited);
    if (number == NO_PAGE)
        return NO_BLOCK;
    count_search(&state->heap, visited);
    return take(state, number);
}

static uint32_t allocate_for(struct mimalloc2 *state, struct theap *theap, uint64_t size)
{
    if (size <= SMALL_REQUEST) {
        uint32_t number = theap->queues[bin_of(size)].first;
        if (number != NO_PAGE && state->pages[number].free != NO_BLOCK) {
            count_search(&state->heap, 1);
            return take(state, number);
        }
    }
    return allocate_generic(state, theap, size);
}

/* What a thread but the main one has from the system for itself; NO_BLOCK, with the heap's failure
 * set, if that cannot be. */
static uint32_t take_record(struct mimalloc2 *state)
{
    struct heap *heap = &state->heap;
    if (state->record_count > 0)
        return state->records[--state->record_count];
    uint32_t id = heap_map_segment(heap, RECORD, 1);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap_mark(heap, id, STATE_TABLE);
    heap_touch(heap, heap->blocks[id].address, RECORD);
    state->committed += RECORD;
    return id;
}

static void give_record(struct mimalloc2 *state, uint32_t record)
{
    if (record == NO_BLOCK)
        return;
    if (state->record_count < RECORDS_KEPT) {
        state->records[state->record_count++] = record;
        return;
    }
    heap_unmap_segment(&state->heap, record);
    state->committed -= RECORD;
}

/* Gives a thread an empty heap of its own; NULL, with the heap's failure set, when memory is
 * exhausted. */
static struct theap *add_theap(struct mimalloc2 *state, uint32_t thread)
{
    struct theap *theap = calloc(1, sizeof *theap);
    if (theap == NULL || !thread_table_add(&state->theaps, thread)) {
        free(theap);
        heap_fail(&state->heap, OUT_OF_MEMORY);
        return NULL;
    }
    theap->lowest = QUEUES;
    thread_table_keep(&state->theaps, thread, theap);
    state->threads++;
    return theap;
}

static void release_theap(struct theap *theap)
{
    if (theap != NULL)
        free(theap->delayed);
    free(theap);
}

static struct theap *theap_of_caller(const struct mimalloc2 *state)
{
    return thread_table_find(&state->theaps, state->heap.request.thread);
}

/* What the request's thread has, made at its first malloc; NULL, with the heap's failure set, if
 * that cannot be. */
static struct theap *theap_for_caller(struct mimalloc2 *state)
{
    struct theap *theap = theap_of_caller(state);
    if (LIKELY(theap != NULL))
        return theap;
    theap = add_theap(state, state->heap.request.thread);
    if (theap != NULL && state->heap.setting.mechanism)
        theap->record = take_record(state);
    return state->heap.failure == NULL ? theap : NULL;
}

/* The high end of a block, at a multiple of an alignment; the low end is waste meanwhile. */
static uint32_t align_inside(struct mimalloc2 *state, uint32_t id, uint64_t alignment)
{
    struct heap *heap = &state->heap;
    uint64_t address = heap->blocks[id].address;
    uint64_t skipped = round_up(address, alignment) - address;
    if (skipped == 0)
        return id;
    uint32_t number = heap->blocks[id].family_data;
    state->pages[number].has_aligned = true;
    heap_mark(heap, id, STATE_WASTE);
    uint32_t high = heap_cut_off(heap, id, skipped);
    heap_mark(heap, high, STATE_ALLOCATED);
    heap->blocks[high].family_data = number;
    return high;
}

/* Whether a block for a request is aligned anyway, or the allocator thinks so. */
static bool is_aligned(const struct mimalloc2 *state, const struct theap *theap, uint64_t size,
                       uint64_t alignment)
{
    if (size < alignment || size > SMALL_REQUEST)
        return false;
    if (lowest_bit(size) == size || (size <= ALIGNED_UP_TO && size % alignment == 0))
        return true;
    uint32_t number = theap->queues[bin_of(size)].first;
    uint32_t next = number == NO_PAGE ? NO_BLOCK : state->pages[number].free;
    return next != NO_BLOCK && state->heap.blocks[next].address % alignment == 0;
}

static uint32_t allocate_aligned(struct mimalloc2 *state, struct theap *theap, uint64_t size,
                                 uint64_t alignment)
{
    if (is_aligned(state, theap, size, alignment))
        return allocate_for(state, theap, size);
    uint32_t id = allocate_for(state, theap, size + alignment - 1);
    return id == NO_BLOCK ? NO_BLOCK : align_inside(state, id, alignment);
}

/* Allocates what is there before the program's own first call. */
static NEVER_INLINE void start_program(struct mimalloc2 *state)
{
    struct heap *heap = &state->heap;
    uint64_t threads = heap->setting.mechanism ? heap->setting.other_threads : 0;
    const struct counters before = heap->counters;
    state->is_started = true;
    for (uint64_t i = 0; i < threads && heap->failure == NULL; i++) {
        if (!heap_reserve_more(heap, BLOCKS_AN_EVENT))
            return;
        uint32_t id = allocate_for(state, thread_table_find(&state->theaps, 0), THREAD_BLOCK);
        if (id != NO_BLOCK)
            heap_mark(heap, id, STATE_TABLE);
    }
    forget_searches(heap, &before);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct mimalloc2 *state = state_of(heap);
    if (UNLIKELY(!state->is_started))
        start_program(state);
    state->calls++;
    struct theap *theap = theap_for_caller(state);
    if (theap == NULL)
        return NO_BLOCK;
    uint32_t id = UNLIKELY(heap->request.alignment > 1)
                      ? allocate_aligned(state, theap, size, heap->request.alignment)
                      : allocate_for(state, theap, size);
    if (UNLIKELY(!state->has_origin) && id != NO_BLOCK) {
        state->origin = state->pages[heap->blocks[id].family_data].segment->relative;
        state->has_origin = true;
    }
    return id;
}

/* Joins what lies in front of an aligned object in its block to it. */
static uint32_t whole_block(struct heap *heap, const struct page *page, uint32_t id)
{
    if ((heap->blocks[id].address - page->first) % page->block_size == 0)
        return id;
    uint32_t low = heap->blocks[id].previous;
    heap_join_next(heap, low);
    return low;
}

static void tell_owner(struct heap *heap, struct theap *theap, uint32_t id)
{
    if (theap->delayed_count == theap->delayed_capacity) {
        uint32_t capacity = 2 * theap->delayed_capacity + 16;
        uint32_t *delayed = realloc(theap->delayed, capacity * sizeof *delayed);
        if (delayed == NULL) {
            heap_fail(heap, OUT_OF_MEMORY);
            return;
        }
        theap->delayed = delayed;
        theap->delayed_capacity = capacity;
    }
    theap->delayed[theap->delayed_count++] = id;
}

/* Leaves a block of another thread's, or of nobody's, to that or to its page. */
static void tell(struct mimalloc2 *state, struct page *page, uint32_t id)
{
    struct heap *heap = &state->heap;
    if (page->delayed == TELLS_OWNER) {
        tell_owner(heap, page->owner, id);
        page->delayed = TELLS_PAGE;
    } else {
        heap->blocks[id].family_data = page->remote;
        page->remote = id;
        page->remote_count++;
    }
    if (page->segment->is_huge)
        heap_discard(heap, heap->blocks[id].address, page->block_size);
}

/* Frees a block on behalf of a thread. */
static void release_for(struct mimalloc2 *state, const struct theap *theap, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t number = heap->blocks[id].family_data;
    struct page *page = &state->pages[number];
    if (UNLIKELY(page->has_aligned)) {
        heap_mark(heap, id, STATE_WASTE);
        id = whole_block(heap, page, id);
    }
    heap_mark(heap, id, STATE_FREE);
    if (LIKELY(page->owner != NULL && page->owner == theap))
        free_own(state, number, id);
    else
        tell(state, page, id);
}

static void release(struct heap *heap, uint32_t id)
{
    struct mimalloc2 *state = state_of(heap);
    state->calls++;
    release_for(state, theap_of_caller(state), id);
}

/* Whether a block is large enough, and at most twice as large. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    uint64_t usable = heap->blocks[id].size;
    return heap->request.size > 0 && usable / 2 <= size && size <= usable;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct mimalloc2 *state = state_of(heap);
    state->calls++;
    if (resize(heap, id, size))
        return id;
    uint64_t kept = heap->blocks[id].size < size ? heap->blocks[id].size : size;
    struct theap *theap = theap_for_caller(state);
    uint32_t moved = theap == NULL ? NO_BLOCK : allocate_for(state, theap, size);
    if (moved == NO_BLOCK)
        return NO_BLOCK;
    heap_touch(heap, heap->blocks[moved].address, kept);
    release_for(state, theap, id);
    return moved;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    (void)heap;
    if (size <= LARGEST_MEDIUM)
        return size_of_bin(bin_of(size));
    uint64_t asked = system_size(size, 4 * KIB);
    return round_up(asked, asked <= 512 * KIB || asked > LARGEST_IN_SEGMENT ? SLICE : 512 * KIB);
}

DEFINE_ONLY_LAYER(mimalloc2, true, allocate, release, heap_reserve, .resize = resize,
                  .reallocate = reallocate_block, .rounded = rounded)

/* Collects all pages of a thread's as they are for the last time, and frees those that are empty;
 * the others are abandoned if the thread ends. */
static void collect_finally(struct mimalloc2 *state, struct theap *theap, bool ends)
{
    take_delayed(state, theap);
    mi2_collect_retired(state, theap, true);
    for (unsigned bin = 0; bin < QUEUES; bin++) {
        for (uint32_t number = theap->queues[bin].first, next; number != NO_PAGE; number = next) {
            struct page *page = &state->pages[number];
            next = page->next;
            mi2_page_collect_all(&state->heap, page);
            if (page->used == 0)
                mi2_page_free(state, number);
            else if (ends)
                mi2_abandon(state, number);
        }
    }
    collect_abandoned(state, theap, !ends);
}

static void end_thread(struct heap *heap)
{
    struct mimalloc2 *state = state_of(heap);
    if (!state->is_started)
        start_program(state);
    struct theap *theap = theap_of_caller(state);
    state->calls++;
    if (theap == NULL)
        return;
    thread_table_keep(&state->theaps, heap->request.thread, NULL);
    state->threads--;
    for (unsigned bin = 0; bin < QUEUES; bin++)
        for (uint32_t number = theap->queues[bin].first; number != NO_PAGE;
             number = state->pages[number].next)
            state->pages[number].delayed = NEVER_TELLS_OWNER;
    collect_finally(state, theap, true);
    segments_purge(state, false);
    give_record(state, theap->record);
    release_theap(theap);
}

static void give_back(struct heap *heap)
{
    struct mimalloc2 *state = state_of(heap);
    struct theap *theap = theap_of_caller(state);
    state->calls++;
    if (theap != NULL)
        collect_finally(state, theap, false);
    segments_purge(state, true);
}

static void locate(const struct heap *heap, uint32_t id, struct location *location)
{
    const struct mimalloc2 *state = (const struct mimalloc2 *)heap;
    const struct block *block = &heap->blocks[id];
    const struct segment *segment = state->pages[block->family_data].segment;
    *location = (struct location){
        .offset = (int64_t)(segment->relative + (block->address - segment->start) - state->origin),
    };
}

static const char *const figure_names[] = {"committed"};

static void report(const struct heap *heap, uint64_t *figures)
{
    figures[0] = ((const struct mimalloc2 *)heap)->committed;
}

static bool init(void *memory)
{
    struct mimalloc2 *state = memory;
    state->page_count = state->segment_count = 1;
    state->first = state->heap.setting.mechanism ? 1 : 0;
    state->pages = table_grow(NULL, sizeof *state->pages, 1, 64, UINT32_MAX, &state->page_capacity);
    if (state->pages == NULL)
        return false;
    state->pages[NO_PAGE] = (struct page){.base = NO_BLOCK};
    return add_theap(state, 0) != NULL;
}

static void release_all(void *memory)
{
    struct mimalloc2 *state = memory;
    for (uint32_t place = 0; place < state->theaps.capacity; place++)
        release_theap(state->theaps.slots[place].kept);
    thread_table_release(&state->theaps);
    table_release(state->pages);
    segments_release(state);
}

static const char *check(const void *memory)
{
    const struct mimalloc2 *state = memory;
    const char *wrong = heap_check(&state->heap);
    for (uint32_t number = 1; number < state->page_count && wrong == NULL; number++)
        if (state->pages[number].base != NO_BLOCK)
            wrong = mi2_page_check(&state->heap, &state->pages[number]);
    return wrong;
}

static const struct parameter parameters[] = {
    SIZE_PARAMETER(struct mimalloc2, tick),
    SIZE_PARAMETER(struct mimalloc2, decommit_delay),
    SIZE_PARAMETER(struct mimalloc2, decommit_extend_delay),
    SIZE_PARAMETER(struct mimalloc2, segment_decommit_delay),
    PARAMETER(struct mimalloc2, allow_decommit, 0, 1),
    PARAMETER(struct mimalloc2, eager_commit, 0, 1),
    SIZE_PARAMETER(struct mimalloc2, eager_commit_delay),
};

const struct family mimalloc2 = {
    .name = "mimalloc 2",
    .state_size = sizeof(struct mimalloc2),
    PARAMETERS(parameters),
    .blocks_an_event = BLOCKS_AN_EVENT,
    .columns = COLUMN_ALIGNMENT | COLUMN_THREAD | COLUMN_TIME,
    .writes_itself = true,
    .end_thread = end_thread,
    .give_back = give_back,
    FIGURES(figure_names),
    .report = report,
    .locate = locate,
    .init = init,
    .release = release_all,
    .next_layer = next_layer,
    .check = check,
};
