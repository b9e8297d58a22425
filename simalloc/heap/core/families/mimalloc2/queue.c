/* The queues of pages that a thread has in mimalloc 2. */
#include "families/mimalloc2/mimalloc2.h"

enum { RETIRE_SMALL = 9, RETIRE = 3 };

static struct queue *queue_of(const struct page *page)
{
    return &page->owner->queues[page->is_full ? FULL : page->bin];
}

void mi2_queue_push(struct mimalloc2 *state, struct theap *theap, uint32_t number, bool in_front)
{
    struct page *page = &state->pages[number];
    page->owner = theap;
    struct queue *queue = queue_of(page);
    page->previous = in_front ? NO_PAGE : queue->last;
    page->next = in_front ? queue->first : NO_PAGE;
    *(page->previous == NO_PAGE ? &queue->first : &state->pages[page->previous].next) = number;
    *(page->next == NO_PAGE ? &queue->last : &state->pages[page->next].previous) = number;
}

void mi2_queue_remove(struct mimalloc2 *state, uint32_t number)
{
    struct page *page = &state->pages[number];
    struct queue *queue = queue_of(page);
    *(page->previous == NO_PAGE ? &queue->first : &state->pages[page->previous].next) = page->next;
    *(page->next == NO_PAGE ? &queue->last : &state->pages[page->next].previous) = page->previous;
    page->owner = NULL;
}

/* Moves a page to the end of the queue of full pages, or of its bin's. */
static void set_full(struct mimalloc2 *state, uint32_t number, bool is_full)
{
    struct theap *theap = state->pages[number].owner;
    mi2_queue_remove(state, number);
    state->pages[number].is_full = is_full;
    mi2_queue_push(state, theap, number, false);
}

static uint32_t slices_for(uint64_t size)
{
    if (size <= LARGEST_SMALL)
        return 1;
    if (size <= LARGEST_MEDIUM)
        return 8;
    return (uint32_t)(round_up(size, size <= 512 * KIB ? SLICE : 512 * KIB) / SLICE);
}

/* Makes a page in a thread's segments, or in one that it gets; NO_PAGE, without a failure, if a page
 * with room for the size was taken over instead. */
static uint32_t new_page(struct mimalloc2 *state, struct theap *theap, uint64_t block_size,
                         uint32_t slices)
{
    uint32_t place;
    while ((place = span_find(state, theap, slices)) == NO_SPAN) {
        enum reclaimed reclaimed = reclaim(state, theap, block_size, slices);
        if (reclaimed == A_PAGE || state->heap.failure != NULL)
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

/* Makes a page of one block, which may have a segment of its own. */
static uint32_t new_single(struct mimalloc2 *state, struct theap *theap, uint64_t size)
{
    if (size <= LARGEST_IN_SEGMENT) {
        uint32_t slices = slices_for(size);
        uint32_t number = NO_PAGE;
        while (number == NO_PAGE && state->heap.failure == NULL)
            number = new_page(state, theap, slices * SLICE, slices);
        return number;
    }
    struct segment *segment = segment_take_huge(state, theap, size);
    if (segment == NULL)
        return NO_PAGE;
    return mi2_page_make(state, theap, segment, state->first, round_up(size, SLICE));
}

/* The first page of a bin that has room, with a free block; those before it are full. */
static uint32_t first_with_room(struct mimalloc2 *state, struct theap *theap, unsigned bin,
                                uint64_t *visited)
{
    uint32_t number;
    while ((number = theap->queues[bin].first) != NO_PAGE) {
        struct page *page = &state->pages[number];
        ++*visited;
        mi2_page_collect(&state->heap, page);
        if (page->free != NO_BLOCK)
            return number;
        if (page->capacity < page->reserved)
            return mi2_page_extend(state, number) ? number : NO_PAGE;
        set_full(state, number, true);
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
    while (number == NO_PAGE && state->heap.failure == NULL) {
        number = first_with_room(state, theap, bin, visited);
        if (number == NO_PAGE && state->heap.failure == NULL) {
            mi2_collect_retired(state, theap, false);
            number = new_page(state, theap, block_size, slices_for(block_size));
        }
    }
    state->pages[number].retire = 0;
    return number;
}

static void note_retired(struct theap *theap, unsigned bin)
{
    theap->lowest = theap->lowest < bin ? theap->lowest : bin;
    theap->highest = theap->highest > bin ? theap->highest : bin;
}

/* Keeps a page that has become empty for a while if it is the only one of its queue; or frees it. */
static void retire(struct mimalloc2 *state, uint32_t number)
{
    struct page *page = &state->pages[number];
    const struct queue *queue = queue_of(page);
    if (page->bin == SINGLES || page->is_full || queue->first != queue->last) {
        mi2_page_free(state, number);
        return;
    }
    page->retire = page->block_size <= LARGEST_SMALL ? RETIRE_SMALL : RETIRE;
    note_retired(page->owner, page->bin);
}

void free_own(struct mimalloc2 *state, uint32_t number, uint32_t id)
{
    struct page *page = &state->pages[number];
    state->heap.blocks[id].family_data = page->local;
    page->local = id;
    page->used--;
    if (page->used == 0)
        retire(state, number);
    else if (page->is_full)
        set_full(state, number, false);
}

void mi2_page_free(struct mimalloc2 *state, uint32_t number)
{
    struct segment *segment = state->pages[number].segment;
    mi2_queue_remove(state, number);
    page_clear(state, number);
    if (segment->used == 0)
        segment_leave_owner(state, segment);
    else if (segment->used == segment->abandoned)
        abandon_segment(state, segment);
}

void mi2_collect_retired(struct mimalloc2 *state, struct theap *theap, bool force)
{
    unsigned lowest = theap->lowest;
    unsigned highest = theap->highest;
    theap->lowest = QUEUES;
    theap->highest = 0;
    for (unsigned bin = lowest; bin <= highest && bin < QUEUES; bin++) {
        struct page *page = &state->pages[theap->queues[bin].first];
        if (theap->queues[bin].first == NO_PAGE || page->retire == 0)
            continue;
        page->retire = page->used > 0 || force ? 0 : page->retire - 1;
        if (page->retire > 0)
            note_retired(theap, bin);
        else if (page->used == 0)
            mi2_page_free(state, theap->queues[bin].first);
    }
}
