/* The page queues of a mimalloc 2 thread. */
#include "families/mimalloc2/mimalloc2.h"

/* Moves a page to the end of the queue of full pages, or of the queue of its bin. */
static void set_full(struct mimalloc *mi, uint32_t number, bool is_full)
{
    struct theap *theap = mi->pages[number].owner;
    queue_remove(mi, number);
    mi->pages[number].is_full = is_full;
    queue_push(mi, theap, number, false);
}

static uint32_t slices_for(uint64_t size)
{
    if (size <= LARGEST_SMALL)
        return 1;
    if (size <= LARGEST_MEDIUM)
        return 8;
    return (uint32_t)(round_up(size, size <= 512 * KIB ? SLICE : 512 * KIB) / SLICE);
}

/* Makes a page in a thread's segments, or in a new segment. Returns NO_PAGE, without a failure, if
 * a page with a free block of the size was reclaimed instead. */
static uint32_t new_page(struct mimalloc2 *state, struct theap *theap, uint64_t block_size,
                         uint32_t slices)
{
    uint32_t place;
    while ((place = span_find(state, theap, slices)) == NO_SPAN) {
        enum reclaimed reclaimed = reclaim(state, theap, block_size, slices);
        if (reclaimed == A_PAGE || state->mi.heap.failure != NULL)
            return NO_PAGE;
        if (reclaimed == NOTHING && segment_take(state, theap) == NULL)
            return NO_PAGE;
    }
    struct segment *segment = state->segments[place / SLICES];
    span_take(state, place, slices);
    segment_use(state, segment, place % SLICES, slices);
    uint32_t number = mi2_page_make(state, theap, segment, place % SLICES, block_size);
    segment_decommit_due(state, segment, false);
    return number;
}

/* Makes a page of one block. A block above LARGEST_IN_SEGMENT gets a huge segment. */
static uint32_t new_single(struct mimalloc2 *state, struct theap *theap, uint64_t size)
{
    if (size <= LARGEST_IN_SEGMENT) {
        uint32_t slices = slices_for(size);
        uint32_t number = NO_PAGE;
        while (number == NO_PAGE && !heap_is_stopped(&state->mi.heap))
            number = new_page(state, theap, slices * SLICE, slices);
        return number;
    }
    struct segment *segment = segment_take_huge(state, theap, size);
    if (segment == NULL)
        return NO_PAGE;
    return mi2_page_make(state, theap, segment, state->first, round_up(size, SLICE));
}

/* Returns the first page of a bin with a free block, or NO_PAGE. Moves the pages before it to the
 * queue of full pages. */
static uint32_t first_with_room(struct mimalloc2 *state, struct theap *theap, unsigned bin,
                                uint64_t *visited)
{
    uint32_t number;
    while ((number = theap->queues[bin].first) != NO_PAGE) {
        struct page *page = &state->mi.pages[number];
        ++*visited;
        page_collect(&state->mi.heap, page, false);
        if (page->free != NO_BLOCK)
            return number;
        if (page->capacity < page->reserved)
            return page_extend(&state->mi, number) ? number : NO_PAGE;
        set_full(&state->mi, number, true);
    }
    return NO_PAGE;
}

uint32_t mi2_find_page(struct mimalloc2 *state, struct theap *theap, uint64_t size,
                       uint64_t *visited)
{
    if (size > LARGEST_MEDIUM)
        return new_single(state, theap, system_size(size, 4 * KIB));
    unsigned bin = bin_of(size);
    uint64_t block_size = size_of_bin(bin);
    uint32_t number = NO_PAGE;
    while (number == NO_PAGE && !heap_is_stopped(&state->mi.heap)) {
        number = first_with_room(state, theap, bin, visited);
        if (number == NO_PAGE && state->mi.heap.failure == NULL) {
            collect_retired(&state->mi, theap, false);
            number = new_page(state, theap, block_size, slices_for(block_size));
        }
    }
    if (number != NO_PAGE)
        state->mi.pages[number].retire = 0;
    return number;
}

void mi2_after_free(struct mimalloc *mi, uint32_t number)
{
    if (mi->pages[number].used == 0)
        retire(mi, number);
    else
        set_full(mi, number, false);
}

void mi2_page_free(struct mimalloc *mi, uint32_t number)
{
    struct mimalloc2 *state = (struct mimalloc2 *)mi;
    struct segment *segment = mi->pages[number].segment;
    queue_remove(mi, number);
    page_clear(state, number);
    if (segment->used == 0)
        segment_leave_owner(state, segment);
    else if (segment->used == segment->abandoned)
        abandon_segment(state, segment);
}
