/* Pages and segments of mimalloc 2 that are abandoned: they have no owner because their threads
 * have ended. */
#include "families/mimalloc2/mimalloc2.h"

enum {
    TRIED_TO_RECLAIM = 8, /* maximum number of segments tried before a thread gets a new one */
    TRIED_AT_END = 1024,  /* maximum number of segments tried when a thread ends */
    TRIED_BY_FORCE = 16 * TRIED_AT_END,
    MAX_VISITS = 3, /* after more visits, a segment is reclaimed whatever it contains */
};

static void push(struct segment **stack, struct segment *segment)
{
    segment->next = *stack;
    *stack = segment;
}

/* Removes and returns the next abandoned segment to visit. After the last one, the visited segments
 * follow again. Returns NULL if no segment is abandoned. */
static struct segment *pop(struct mimalloc2 *state)
{
    if (state->left == NULL) {
        state->left = state->visited;
        state->visited = NULL;
    }
    struct segment *segment = state->left;
    if (segment != NULL)
        state->left = segment->next;
    return segment;
}

/* Moves all visited segments in front of the segments left to visit. */
static void revisit(struct mimalloc2 *state)
{
    struct segment **end = &state->visited;
    while (*end != NULL)
        end = &(*end)->next;
    *end = state->left;
    state->left = state->visited;
    state->visited = NULL;
}

void segment_leave_owner(struct mimalloc2 *state, struct segment *segment)
{
    if (!segment->is_huge) {
        span_leave(state, segment, state->first);
        segment->owner->segments--;
    }
    segment_give(state, segment);
}

void abandon_segment(struct mimalloc2 *state, struct segment *segment)
{
    if (!segment->is_huge) {
        for (uint32_t index = state->first; index < SLICES; index += segment->spans[index].count)
            if (segment->spans[index].page == NO_PAGE)
                span_leave(state, segment, index);
        segment->owner->segments--;
    }
    segment_decommit_due(state, segment, false);
    segment->owner = NULL;
    segment->visits = 1;
    push(&state->left, segment);
}

void mi2_abandon(struct mimalloc *mi, uint32_t number)
{
    struct page *page = &mi->pages[number];
    struct segment *segment = page->segment;
    queue_remove(mi, number);
    page->is_full = false;
    segment->abandoned++;
    if (segment->used == segment->abandoned)
        abandon_segment((struct mimalloc2 *)mi, segment);
}

/* Returns the slice at which the spans of a segment end. */
static uint32_t end_of(const struct mimalloc2 *state, const struct segment *segment)
{
    return segment->is_huge ? state->first + 1 : SLICES;
}

/* Returns the distance to the next span. A huge segment has only one span. */
static uint32_t step(const struct segment *segment, uint32_t index)
{
    return segment->is_huge ? SLICES : segment->spans[index].count;
}

/* Collects the pages of an abandoned segment, and frees the pages without a used block. */
static void free_empty_pages(struct mimalloc2 *state, struct segment *segment)
{
    uint32_t end = end_of(state, segment);
    for (uint32_t index = state->first; index < end; index += step(segment, index)) {
        uint32_t number = segment->spans[index].page;
        if (number == NO_PAGE)
            continue;
        page_collect(&state->mi.heap, &state->mi.pages[number], false);
        if (state->mi.pages[number].used == 0) {
            segment->abandoned--;
            index = page_clear(state, number);
        }
    }
}

/* Returns whether a segment has a page with a free block of a size. */
static bool has_page(const struct mimalloc2 *state, const struct segment *segment,
                     uint64_t block_size)
{
    uint32_t end = end_of(state, segment);
    for (uint32_t index = state->first; index < end; index += step(segment, index)) {
        const struct page *page = &state->mi.pages[segment->spans[index].page];
        if (segment->spans[index].page != NO_PAGE && page->block_size == block_size &&
            page->used < page->reserved)
            return true;
    }
    return false;
}

static bool has_span(const struct mimalloc2 *state, const struct segment *segment, uint32_t slices)
{
    uint32_t end = end_of(state, segment);
    for (uint32_t index = state->first; index < end; index += step(segment, index))
        if (segment->spans[index].page == NO_PAGE && segment->spans[index].count >= slices)
            return true;
    return false;
}

/* Makes a thread the owner of an abandoned page. */
static void take_over_page(struct mimalloc2 *state, struct theap *theap, uint32_t number)
{
    struct page *page = &state->mi.pages[number];
    page->segment->abandoned--;
    page->delayed = NOTIFIES_OWNER;
    queue_push(&state->mi, theap, number, true);
}

/* Makes a thread the owner of an abandoned segment and its pages. No page may be empty. */
static void take_over(struct mimalloc2 *state, struct segment *segment, struct theap *theap)
{
    uint32_t end = end_of(state, segment);
    segment->owner = theap;
    segment->visits = 0;
    theap->segments += !segment->is_huge;
    for (uint32_t index = state->first; index < end; index += step(segment, index)) {
        uint32_t number = segment->spans[index].page;
        if (number != NO_PAGE)
            take_over_page(state, theap, number);
        else if (!segment->is_huge)
            index = span_free(state, segment, index);
    }
    if (segment->used == 0)
        segment_leave_owner(state, segment);
}

void collect_abandoned(struct mimalloc2 *state, struct theap *theap, bool force)
{
    struct segment *segment;
    if (force)
        revisit(state);
    for (uint32_t tries = force ? TRIED_BY_FORCE : TRIED_AT_END; tries > 0; tries--) {
        segment = pop(state);
        if (segment == NULL)
            return;
        free_empty_pages(state, segment);
        if (segment->used == 0) {
            take_over(state, segment, theap);
        } else {
            segment_decommit_due(state, segment, force);
            push(&state->visited, segment);
        }
    }
}

enum reclaimed reclaim(struct mimalloc2 *state, struct theap *theap, uint64_t block_size,
                       uint32_t slices)
{
    struct segment *segment;
    for (uint32_t tries = TRIED_TO_RECLAIM; tries > 0; tries--) {
        segment = pop(state);
        if (segment == NULL)
            return NOTHING;
        segment->visits++;
        free_empty_pages(state, segment);
        bool serves_page = has_page(state, segment, block_size);
        if (segment->used > 0 && (serves_page || has_span(state, segment, slices))) {
            take_over(state, segment, theap);
            return serves_page ? A_PAGE : A_SPAN;
        }
        if (segment->used == 0 || segment->visits > MAX_VISITS) {
            take_over(state, segment, theap);
        } else {
            segment_decommit_due(state, segment, true);
            push(&state->visited, segment);
        }
    }
    return NOTHING;
}
