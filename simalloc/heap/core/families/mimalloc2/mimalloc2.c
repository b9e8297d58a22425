/* mimalloc 2: pages with blocks of one size, in segments that are cut into spans
 * (policy/families/mimalloc.md). */
#include "families/mimalloc2/mimalloc2.h"

enum {
    ALIGNED_UP_TO = 128, /* largest block in bytes that is assumed to be aligned to its size */
    /* bytes that the system maps for the data of each thread except the main thread */
    RECORD = 8192,
    RECORDS_KEPT = 8,
};

/* Frees the blocks that other threads freed in a thread's pages, the newest first. */
static void take_delayed(struct mimalloc *mi, struct theap *theap)
{
    while (theap->delayed_count > 0) {
        uint32_t id = theap->delayed[--theap->delayed_count];
        uint32_t number = mi->heap.blocks[id].family_data;
        struct page *page = &mi->pages[number];
        if (page->delayed == NOTIFIES_PAGE)
            page->delayed = NOTIFIES_OWNER;
        page_collect(&mi->heap, page, false);
        page_free_own(mi, number, id);
    }
}

static uint32_t allocate(struct mimalloc *mi, struct theap *theap, uint64_t size)
{
    uint64_t visited = 0;
    take_delayed(mi, theap);
    uint32_t number = mi2_find_page((struct mimalloc2 *)mi, theap, size, &visited);
    if (number == NO_PAGE)
        return NO_BLOCK;
    count_search(&mi->heap, visited);
    return page_take(mi, number);
}

/* Maps the data of a thread other than the main thread, or reuses cached data. */
static void begin_thread(struct mimalloc *mi, struct theap *theap)
{
    struct mimalloc2 *state = (struct mimalloc2 *)mi;
    struct heap *heap = &mi->heap;
    state->threads++;
    if (!mi->is_started || !heap->setting.mechanism)
        return;
    if (state->record_count > 0) {
        theap->records[0] = state->records[--state->record_count];
        return;
    }
    uint32_t id = heap_need(heap, heap_map_segment(heap, RECORD, 1));
    if (id == NO_BLOCK)
        return;
    heap_mark(heap, id, STATE_TABLE);
    heap_touch(heap, heap->blocks[id].address, RECORD);
    mi->committed += RECORD;
    theap->records[0] = id;
}

static void give_record(struct mimalloc2 *state, uint32_t record)
{
    if (record == NO_BLOCK)
        return;
    if (state->record_count < RECORDS_KEPT) {
        state->records[state->record_count++] = record;
        return;
    }
    heap_unmap_segment(&state->mi.heap, record);
    state->mi.committed -= RECORD;
}

/* Returns whether a block for a request is aligned without extra bytes, or whether mimalloc assumes
 * so. */
static bool is_aligned(const struct mimalloc *mi, const struct theap *theap, uint64_t size,
                       uint64_t alignment)
{
    if (size < alignment || size > SMALL_REQUEST)
        return false;
    if (lowest_bit(size) == size || (size <= ALIGNED_UP_TO && size % alignment == 0))
        return true;
    uint32_t next = next_small(mi, theap, size);
    return next != NO_BLOCK && mi->heap.blocks[next].address % alignment == 0;
}

static uint32_t allocate_aligned(struct mimalloc *mi, struct theap *theap, uint64_t size,
                                 uint64_t alignment)
{
    if (is_aligned(mi, theap, size, alignment))
        return allocate_for(mi, theap, size);
    uint32_t id = allocate_for(mi, theap, size + alignment - 1);
    return id == NO_BLOCK ? NO_BLOCK : align_inside(mi, id, alignment);
}

static void notify_owner(struct heap *heap, struct theap *theap, uint32_t id)
{
    if (heap_needs(heap, TABLE_SPARE(theap->delayed, theap->delayed_count, 1, UINT32_MAX,
                                     theap->delayed_capacity)))
        theap->delayed[theap->delayed_count++] = id;
}

/* Frees a block in a page of another thread, or in an abandoned page: puts it on the list of the
 * owner or of the page. */
static void free_remote(struct mimalloc *mi, struct theap *theap, uint32_t number, uint32_t id)
{
    (void)theap;
    struct heap *heap = &mi->heap;
    struct page *page = &mi->pages[number];
    if (page->delayed == NOTIFIES_OWNER) {
        notify_owner(heap, page->owner, id);
        page->delayed = NOTIFIES_PAGE;
    } else {
        heap->blocks[id].family_data = page->remote;
        page->remote = id;
        page->remote_count++;
    }
    if (page->segment->is_huge && !page->segment->is_reserved)
        heap_discard(heap, heap->blocks[id].address, page->block_size);
}

static uint64_t rounded(uint64_t size)
{
    if (size <= LARGEST_MEDIUM)
        return size_of_bin(bin_of(size));
    uint64_t asked = system_size(size, 4 * KIB);
    return round_up(asked, asked <= 512 * KIB || asked > LARGEST_IN_SEGMENT ? SLICE : 512 * KIB);
}

/* Collects a thread's memory for the last time, and the abandoned segments. */
static void collect(struct mimalloc *mi, struct theap *theap, bool ends)
{
    take_delayed(mi, theap);
    collect_finally(mi, theap, ends);
    collect_abandoned((struct mimalloc2 *)mi, theap, !ends);
}

static void end_thread(struct mimalloc *mi, struct theap *theap)
{
    struct mimalloc2 *state = (struct mimalloc2 *)mi;
    state->threads--;
    for (unsigned bin = 0; bin < QUEUES; bin++)
        for (uint32_t number = theap->queues[bin].first; number != NO_PAGE;
             number = mi->pages[number].next)
            mi->pages[number].delayed = NEVER_NOTIFIES_OWNER;
    collect(mi, theap, true);
    segments_purge(state, false);
    give_record(state, theap->records[0]);
}

static void give_back(struct mimalloc *mi, struct theap *theap)
{
    if (theap != NULL)
        collect(mi, theap, false);
    segments_purge((struct mimalloc2 *)mi, true);
}

static const struct rules rules = {
    .largest_small = LARGEST_SMALL,
    .retire_small = 9,
    .retire = 3,
    .retired_pages = 1,
    .extended = 4096,
    .min_extended = 4,
    .origin_unit = SEGMENT,
    .begin_thread = begin_thread,
    .allocate = allocate,
    .allocate_aligned = allocate_aligned,
    .rounded = rounded,
    .after_free = mi2_after_free,
    .free_remote = free_remote,
    .free_page = mi2_page_free,
    .abandon = mi2_abandon,
    .end_thread = end_thread,
    .give_back = give_back,
    .release = segments_release,
};

static bool init(void *memory)
{
    struct mimalloc2 *state = memory;
    state->segment_count = 1;
    state->first = state->mi.heap.setting.mechanism ? 1 : 0;
    return mimalloc_init(&state->mi, &rules);
}

static const struct parameter parameters[] = {
    SIZE_PARAMETER(struct mimalloc, tick),
    SIZE_PARAMETER(struct mimalloc2, decommit_delay),
    SIZE_PARAMETER(struct mimalloc2, decommit_extend_delay),
    SIZE_PARAMETER(struct mimalloc2, segment_decommit_delay),
    PARAMETER(struct mimalloc2, allow_decommit, 0, 1),
    PARAMETER(struct mimalloc2, eager_commit, 0, 1),
    SIZE_PARAMETER(struct mimalloc2, eager_commit_delay),
    PARAMETER(struct mimalloc2, reserve_os_memory, 0, MAX_RESERVED * SEGMENT),
};

const struct family mimalloc2 = {
    .name = "mimalloc 2",
    .state_size = sizeof(struct mimalloc2),
    MIMALLOC_FAMILY,
};
