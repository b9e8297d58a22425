/* mimalloc 3: pages with blocks of one size. Full pages are abandoned, and reclaimed when they have
 * free blocks again (policy/families/mimalloc.md). */
#include "families/mimalloc3/mimalloc3.h"

enum {
    /* minimum bytes of a request after which a full page leaves its queue */
    THOROUGH_FROM = 8 * 1024,
    CALLS_TO_COLLECT = 1000,
    RECORDS_RETAIN = 2, /* full pages of records that a search leaves in their queue */
};

#define COMMITTED_AT_START (2 * MIB + 256 * KIB) /* bytes of the page map's root */

static const uint64_t record_sizes[RECORDS] = {112, 8904};

static void collect_regularly(struct mimalloc3 *state, struct theap *theap)
{
    struct mimalloc *mi = &state->mi;
    theap->collected += theap->calls;
    theap->calls = 0;
    collect_retired(mi, theap, false);
    if (theap->collected < state->generic_collect)
        return;
    theap->collected = 0;
    for (unsigned bin = 0; bin < QUEUES; bin++) {
        for (uint32_t number = theap->queues[bin].first, next; number != NO_PAGE; number = next) {
            struct page *page = &mi->pages[number];
            next = page->next;
            page_collect(&mi->heap, page, false);
            if (page->used == 0 && page->retire == 0)
                mi3_page_free(mi, number);
        }
    }
    arenas_purge(state, theap->sequence, false);
}

/* Allocates a block after a search of all pages of the size. Every few calls, and for large sizes,
 * also collects. */
static uint32_t allocate_generic(struct mimalloc *mi, struct theap *theap, uint64_t size,
                                 uint64_t alignment)
{
    struct mimalloc3 *state = (struct mimalloc3 *)mi;
    theap->calls += !theap->is_new;
    theap->is_new = false;
    bool is_due = theap->calls >= CALLS_TO_COLLECT;
    uint64_t visited = 0;
    if (is_due)
        collect_regularly(state, theap);
    uint32_t number = mi3_find_page(state, theap, size, alignment, &visited);
    if (number == NO_PAGE)
        return NO_BLOCK;
    count_search(&mi->heap, visited);
    uint32_t id = page_take(mi, number);
    const struct page *page = &mi->pages[number];
    if ((is_due || size >= THOROUGH_FROM) && page->block_size > LARGEST_SMALL &&
        page->used == page->reserved)
        mi3_abandon(mi, number);
    return mi->heap.failure == NULL ? id : NO_BLOCK;
}

static uint32_t allocate(struct mimalloc *mi, struct theap *theap, uint64_t size)
{
    return allocate_generic(mi, theap, size, 0);
}

/* Numbers the theap of a thread. For each thread except the main thread, also allocates records. */
static void begin_thread(struct mimalloc *mi, struct theap *theap)
{
    struct mimalloc3 *state = (struct mimalloc3 *)mi;
    struct heap *heap = &mi->heap;
    theap->identity = ++state->identities;
    theap->sequence = state->sequences++;
    theap->full_retain = state->page_full_retain;
    theap->is_new = mi->is_started;
    const struct counters before = heap->counters;
    for (unsigned i = 0; i < RECORDS && mi->is_started && heap->setting.mechanism; i++) {
        uint32_t id = allocate_for(mi, state->keeper, record_sizes[i]);
        if (id == NO_BLOCK)
            return;
        theap->records[i] = id;
        heap_mark(heap, id, STATE_TABLE);
        heap_touch(heap, heap->blocks[id].address, heap->blocks[id].size);
    }
    forget_searches(heap, &before);
}

/* Allocates a block with a sufficient natural alignment, or the high end of a larger block. */
static uint32_t allocate_aligned(struct mimalloc *mi, struct theap *theap, uint64_t size,
                                 uint64_t alignment)
{
    if (alignment > SLICE)
        return allocate_generic(mi, theap, size > SMALL_REQUEST ? size : SMALL_REQUEST + 1,
                                alignment);
    if (size < alignment && alignment <= 4096)
        size = alignment;
    if (alignment <= size) {
        uint32_t next = size <= SMALL_REQUEST ? next_small(mi, theap, size) : NO_BLOCK;
        if (next != NO_BLOCK && mi->heap.blocks[next].address % alignment == 0)
            return allocate_for(mi, theap, size);
        uint64_t wanted = size <= LARGEST_BLOCK ? size_of_bin(bin_of(size))
                                                : system_size(size, SLICE);
        if (alignment <= natural_alignment(&mi->heap, wanted))
            return allocate_for(mi, theap, size);
    }
    uint32_t id = allocate_for(mi, theap, (size > 16 ? size : 16) + alignment - 1);
    return id == NO_BLOCK ? NO_BLOCK : align_inside(mi, id, alignment);
}

static void after_free(struct mimalloc *mi, uint32_t number)
{
    if (mi->pages[number].retire == 0)
        retire(mi, number);
}

static void free_remote(struct mimalloc *mi, struct theap *theap, uint32_t number, uint32_t id)
{
    struct page *page = &mi->pages[number];
    mi->heap.blocks[id].family_data = page->remote;
    page->remote = id;
    page->remote_count++;
    if (page->owner == NULL)
        free_abandoned((struct mimalloc3 *)mi, theap, number);
}

static uint64_t rounded(uint64_t size)
{
    return size <= LARGEST_BLOCK ? size_of_bin(bin_of(size)) : system_size(size, SLICE);
}

static void end_thread(struct mimalloc *mi, struct theap *theap)
{
    collect_finally(mi, theap, true);
    for (unsigned i = RECORDS; i-- > 0;)
        if (theap->records[i] != NO_BLOCK)
            free_for(mi, NULL, theap->records[i]);
}

static void give_back(struct mimalloc *mi, struct theap *theap)
{
    if (theap != NULL)
        collect_finally(mi, theap, false);
    arenas_purge((struct mimalloc3 *)mi, theap == NULL ? 0 : theap->sequence, true);
}

static void release(struct mimalloc *mi)
{
    theap_release(((struct mimalloc3 *)mi)->keeper);
    arenas_release((struct mimalloc3 *)mi);
}

static const struct rules rules = {
    .largest_small = LARGEST_SMALL,
    .retire_small = 16,
    .retire = 4,
    .retired_pages = 3,
    .extended = 8192,
    .min_extended = 1,
    .begin_thread = begin_thread,
    .allocate = allocate,
    .allocate_aligned = allocate_aligned,
    .rounded = rounded,
    .after_free = after_free,
    .free_remote = free_remote,
    .free_page = mi3_page_free,
    .abandon = mi3_abandon,
    .end_thread = end_thread,
    .give_back = give_back,
    .release = release,
};

static bool init(void *memory)
{
    struct mimalloc3 *state = memory;
    state->mi.hint = state->base - state->hint_delta;
    state->mi.origin = state->base;
    state->mi.has_origin = true;
    state->mi.committed = COMMITTED_AT_START;
    state->keeper = theap_make(&state->mi);
    if (state->keeper == NULL)
        return false;
    state->keeper->identity = ++state->identities;
    state->keeper->full_retain = RECORDS_RETAIN;
    return mimalloc_init(&state->mi, &rules);
}

static const char *const reclaim_names[] = {
    [RECLAIM_NEVER] = "-1", [RECLAIM_OWN] = "0", [RECLAIM_ANY] = "1",
};

#define SWITCH_PARAMETER(field) PARAMETER(struct mimalloc3, field, 0, 1)

static const struct parameter parameters[] = {
    SIZE_PARAMETER(struct mimalloc3, base),
    SIZE_PARAMETER(struct mimalloc3, hint_delta),
    SIZE_PARAMETER(struct mimalloc, tick),
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
    MIMALLOC_FAMILY,
};
