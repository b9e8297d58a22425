/* mimalloc 3: pages of blocks of one size, given up when they are full and taken back when they are
 * not (policy/families/mimalloc.md). */
#include "families/mimalloc3/mimalloc3.h"
#include "replay/replay.h"
#include "space/residence.h"
#include "space/table.h"

#include <stdlib.h>

enum {
    BLOCKS_AN_EVENT = 32,
    THOROUGH_FROM = 8 * 1024, /* requests of so many bytes give up a page that they fill */
    CALLS_TO_COLLECT = 1000,
    THREAD_BLOCK = 288, /* that the C library allocates for each thread that it is to start */
    RECORDS_RETAIN = 2, /* full pages of records that a search leaves in their queue */
};

#define COMMITTED_AT_START (2 * MIB + 256 * KIB) /* the page map's root */

static const uint64_t record_sizes[RECORDS] = {112, 8904};

static struct mimalloc3 *state_of(struct heap *heap)
{
    return (struct mimalloc3 *)heap;
}

static struct theap *new_theap(struct mimalloc3 *state, uint32_t sequence, uint64_t full_retain)
{
    struct theap *theap = calloc(1, sizeof *theap);
    if (theap == NULL) {
        heap_fail(&state->heap, OUT_OF_MEMORY);
        return NULL;
    }
    theap->identity = ++state->identities;
    theap->sequence = sequence;
    theap->full_retain = full_retain;
    theap->lowest = QUEUES;
    theap->is_new = true;
    return theap;
}

/* Takes the block that comes next in a page. */
static uint32_t take(struct mimalloc3 *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    uint32_t id = page->free;
    page->free = heap->blocks[id].family_data;
    page->used++;
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = number;
    if (heap->request.is_zeroed && !page->is_zero)
        heap_touch(heap, heap->blocks[id].address, page->block_size);
    return id;
}

static void collect_regularly(struct mimalloc3 *state, struct theap *theap)
{
    theap->collected += theap->calls;
    theap->calls = 0;
    mi3_collect_retired(state, theap, false);
    if (theap->collected < state->generic_collect)
        return;
    theap->collected = 0;
    for (unsigned bin = 0; bin < QUEUES; bin++) {
        for (uint32_t number = theap->queues[bin].first, next; number != NO_PAGE; number = next) {
            struct page *page = &state->pages[number];
            next = page->next;
            mi3_page_collect(&state->heap, page, false);
            if (page->used == 0 && page->retire == 0)
                mi3_page_free(state, number);
        }
    }
    arenas_purge(state, theap->sequence, false);
}

/* Looks at all pages for the size; now and then, and for large sizes, tidies up. */
static NEVER_INLINE uint32_t allocate_generic(struct mimalloc3 *state, struct theap *theap,
                                              uint64_t size, uint64_t alignment)
{
    theap->calls += !theap->is_new;
    theap->is_new = false;
    bool is_due = theap->calls >= CALLS_TO_COLLECT;
    uint64_t visited = 0;
    if (is_due)
        collect_regularly(state, theap);
    uint32_t number = mi3_find_page(state, theap, size, alignment, &visited);
    if (number == NO_PAGE)
        return NO_BLOCK;
    count_search(&state->heap, visited);
    uint32_t id = take(state, number);
    const struct page *page = &state->pages[number];
    if ((is_due || size >= THOROUGH_FROM) && page->block_size > LARGEST_SMALL &&
        page->used == page->reserved)
        mi3_abandon(state, number);
    return state->heap.failure == NULL ? id : NO_BLOCK;
}

static uint32_t allocate_for(struct mimalloc3 *state, struct theap *theap, uint64_t size)
{
    if (size <= SMALL_REQUEST) {
        uint32_t number = theap->queues[bin_of(size)].first;
        if (number != NO_PAGE && state->pages[number].free != NO_BLOCK) {
            count_search(&state->heap, 1);
            return take(state, number);
        }
    }
    return allocate_generic(state, theap, size, 0);
}

/* Gives a thread an empty heap of its own; NULL, with the heap's failure set, when memory is
 * exhausted. */
static struct theap *add_theap(struct mimalloc3 *state, uint32_t thread)
{
    if (!thread_table_add(&state->theaps, thread)) {
        heap_fail(&state->heap, OUT_OF_MEMORY);
        return NULL;
    }
    struct theap *theap = new_theap(state, state->sequences++, state->page_full_retain);
    thread_table_keep(&state->theaps, thread, theap);
    return theap;
}

/* Makes what a thread has for itself, at its first malloc. */
static NEVER_INLINE struct theap *begin_thread(struct mimalloc3 *state, uint32_t thread)
{
    struct heap *heap = &state->heap;
    struct theap *theap = add_theap(state, thread);
    if (theap == NULL)
        return NULL;
    const struct counters before = heap->counters;
    for (unsigned i = 0; i < RECORDS && heap->setting.mechanism; i++) {
        uint32_t id = allocate_for(state, state->keeper, record_sizes[i]);
        if (id == NO_BLOCK)
            return NULL;
        theap->records[i] = id;
        heap_mark(heap, id, STATE_TABLE);
        heap_touch(heap, heap->blocks[id].address, heap->blocks[id].size);
    }
    forget_searches(heap, &before);
    return theap;
}

/* What the request's thread has; NULL: nothing. */
static struct theap *theap_of_caller(const struct mimalloc3 *state)
{
    return thread_table_find(&state->theaps, state->heap.request.thread);
}

/* The same, made if there is nothing; NULL, with the heap's failure set, if that cannot be. */
static struct theap *theap_for_caller(struct mimalloc3 *state)
{
    struct theap *theap = theap_of_caller(state);
    return LIKELY(theap != NULL) ? theap : begin_thread(state, state->heap.request.thread);
}

/* The high end of a block, at a multiple of an alignment; the low end is waste meanwhile. */
static uint32_t align_inside(struct mimalloc3 *state, uint32_t id, uint64_t alignment)
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

/* Takes a block that is aligned anyway, or the high end of a larger one. */
static uint32_t allocate_aligned(struct mimalloc3 *state, struct theap *theap, uint64_t size,
                                 uint64_t alignment)
{
    struct heap *heap = &state->heap;
    if (alignment > SLICE)
        return allocate_generic(state, theap, size > SMALL_REQUEST ? size : SMALL_REQUEST + 1,
                                alignment);
    if (size < alignment && alignment <= 4096)
        size = alignment;
    if (alignment <= size) {
        if (size <= SMALL_REQUEST) {
            uint32_t number = theap->queues[bin_of(size)].first;
            uint32_t next = number == NO_PAGE ? NO_BLOCK : state->pages[number].free;
            if (next != NO_BLOCK && heap->blocks[next].address % alignment == 0) {
                count_search(heap, 1);
                return take(state, number);
            }
        }
        uint64_t wanted = size <= LARGEST_BLOCK ? size_of_bin(bin_of(size))
                                                : system_size(size, SLICE);
        if (alignment <= natural_alignment(state, wanted))
            return allocate_for(state, theap, size);
    }
    uint32_t id = allocate_for(state, theap, (size > 16 ? size : 16) + alignment - 1);
    return id == NO_BLOCK ? NO_BLOCK : align_inside(state, id, alignment);
}

/* Allocates what is there before the program's own first call. */
static NEVER_INLINE void start_program(struct mimalloc3 *state)
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
    struct mimalloc3 *state = state_of(heap);
    if (UNLIKELY(!state->is_started))
        start_program(state);
    state->calls++;
    struct theap *theap = theap_for_caller(state);
    if (theap == NULL)
        return NO_BLOCK;
    if (UNLIKELY(heap->request.alignment > 1))
        return allocate_aligned(state, theap, size, heap->request.alignment);
    return allocate_for(state, theap, size);
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

/* Frees a block on behalf of a thread. */
static void release_for(struct mimalloc3 *state, struct theap *theap, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t number = heap->blocks[id].family_data;
    struct page *page = &state->pages[number];
    if (UNLIKELY(page->has_aligned)) {
        heap_mark(heap, id, STATE_WASTE);
        id = whole_block(heap, page, id);
    }
    heap_mark(heap, id, STATE_FREE);
    if (LIKELY(page->owner != NULL && page->owner == theap)) {
        heap->blocks[id].family_data = page->local;
        page->local = id;
        page->used--;
        if (page->used == 0 && page->retire == 0)
            retire(state, number);
        return;
    }
    heap->blocks[id].family_data = page->remote;
    page->remote = id;
    page->remote_count++;
    if (page->owner == NULL)
        free_abandoned(state, theap, number);
}

static void release(struct heap *heap, uint32_t id)
{
    struct mimalloc3 *state = state_of(heap);
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
    struct mimalloc3 *state = state_of(heap);
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
    return size <= LARGEST_BLOCK ? size_of_bin(bin_of(size)) : system_size(size, SLICE);
}

DEFINE_ONLY_LAYER(mimalloc3, true, allocate, release, heap_reserve, .resize = resize,
                  .reallocate = reallocate_block, .rounded = rounded)

/* Collects all pages of a thread's as they are for the last time, and frees those that are empty;
 * the others are given up if the thread ends. */
static void collect_finally(struct mimalloc3 *state, struct theap *theap, bool ends)
{
    mi3_collect_retired(state, theap, true);
    for (unsigned bin = 0; bin < QUEUES; bin++) {
        for (uint32_t number = theap->queues[bin].first, next; number != NO_PAGE; number = next) {
            struct page *page = &state->pages[number];
            next = page->next;
            mi3_page_collect_all(&state->heap, page);
            if (page->used == 0)
                mi3_page_free(state, number);
            else if (ends)
                mi3_abandon(state, number);
        }
    }
}

static void end_thread(struct heap *heap)
{
    struct mimalloc3 *state = state_of(heap);
    if (!state->is_started)
        start_program(state);
    struct theap *theap = theap_of_caller(state);
    state->calls++;
    if (theap == NULL)
        return;
    thread_table_keep(&state->theaps, heap->request.thread, NULL);
    collect_finally(state, theap, true);
    for (unsigned i = RECORDS; i-- > 0;)
        if (theap->records[i] != NO_BLOCK)
            release_for(state, NULL, theap->records[i]);
    free(theap);
}

static void give_back(struct heap *heap)
{
    struct mimalloc3 *state = state_of(heap);
    struct theap *theap = theap_of_caller(state);
    state->calls++;
    if (theap != NULL)
        collect_finally(state, theap, false);
    arenas_purge(state, theap == NULL ? 0 : theap->sequence, true);
}

static void locate(const struct heap *heap, uint32_t id, struct location *location)
{
    const struct mimalloc3 *state = (const struct mimalloc3 *)heap;
    const struct block *block = &heap->blocks[id];
    const struct page *page = &state->pages[block->family_data];
    *location = (struct location){
        .offset = (int64_t)(page->absolute + (block->address - page->start) - state->base),
    };
}

static const char *const figure_names[] = {"committed"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct mimalloc3 *state = (const struct mimalloc3 *)heap;
    figures[0] = state->committed > 0 ? (uint64_t)state->committed : 0;
}

static bool init(void *memory)
{
    struct mimalloc3 *state = memory;
    state->page_count = 1;
    state->hint = state->base - state->hint_delta;
    state->committed = COMMITTED_AT_START;
    state->pages = table_grow(NULL, sizeof *state->pages, 1, 64, UINT32_MAX, &state->page_capacity);
    state->keeper = new_theap(state, 0, RECORDS_RETAIN);
    if (state->pages == NULL || state->keeper == NULL)
        return false;
    state->pages[NO_PAGE] = (struct page){.base = NO_BLOCK};
    state->keeper->is_new = false;
    return add_theap(state, 0) != NULL;
}

static void release_all(void *memory)
{
    struct mimalloc3 *state = memory;
    for (uint32_t place = 0; place < state->theaps.capacity; place++)
        free(state->theaps.slots[place].kept);
    thread_table_release(&state->theaps);
    free(state->keeper);
    table_release(state->pages);
    arenas_release(state);
}

static const char *check(const void *memory)
{
    const struct mimalloc3 *state = memory;
    const char *wrong = heap_check(&state->heap);
    for (uint32_t number = 1; number < state->page_count && wrong == NULL; number++)
        if (state->pages[number].base != NO_BLOCK)
            wrong = mi3_page_check(&state->heap, &state->pages[number]);
    return wrong;
}

static const char *const reclaim_names[] = {
    [RECLAIM_NEVER] = "-1", [RECLAIM_OWN] = "0", [RECLAIM_ANY] = "1",
};

#define SWITCH_PARAMETER(field) PARAMETER(struct mimalloc3, field, 0, 1)

static const struct parameter parameters[] = {
    SIZE_PARAMETER(struct mimalloc3, base),
    SIZE_PARAMETER(struct mimalloc3, hint_delta),
    SIZE_PARAMETER(struct mimalloc3, tick),
    SIZE_PARAMETER(struct mimalloc3, purge_delay),
    SIZE_PARAMETER(struct mimalloc3, arena_purge_mult),
    SWITCH_PARAMETER(purge_decommits),
    PARAMETER(struct mimalloc3, arena_reserve, CHUNK_SIZE, 16 * 1024 * MIB),
    SWITCH_PARAMETER(arena_eager_commit),
    PARAMETER(struct mimalloc3, purge_unit, SLICE, CHUNK_SIZE),
    SIZE_PARAMETER(struct mimalloc3, arena_purge_immediate_size),
    PARAMETER(struct mimalloc3, allow_thp, 0, 2),
    CHOICE_PARAMETER(struct mimalloc3, page_reclaim_on_free, reclaim_names),
    SIZE_PARAMETER(struct mimalloc3, page_full_retain),
    SIZE_PARAMETER(struct mimalloc3, page_max_candidates),
    SIZE_PARAMETER(struct mimalloc3, page_max_reclaim),
    SIZE_PARAMETER(struct mimalloc3, page_cross_thread_max_reclaim),
    SIZE_PARAMETER(struct mimalloc3, generic_collect),
    SWITCH_PARAMETER(disallow_arena_alloc),
};

const struct family mimalloc3 = {
    .name = "mimalloc 3",
    .state_size = sizeof(struct mimalloc3),
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
