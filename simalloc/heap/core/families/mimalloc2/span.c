/* Free spans of mimalloc 2, and the span queues of a thread. */
#include "families/mimalloc2/mimalloc2.h"

/* Returns the queue for spans of `count` slices. Each count up to 7 has its own queue; above, each
 * doubling has four. */
static unsigned queue_for(uint32_t count)
{
    if (count <= 8)
        return count - 1;
    unsigned bits = 32 - (unsigned)__builtin_clz(count - 1);
    unsigned quarter = (count - 1) >> (bits - 3);
    return 4 * bits + quarter - 13;
}

static uint32_t place_of(const struct segment *segment, uint32_t index)
{
    return segment->number * SLICES + index;
}

void span_enter(struct mimalloc2 *state, struct segment *segment, uint32_t index)
{
    struct span *span = &segment->spans[index];
    uint32_t *first = &segment->owner->spans[queue_for(span->count)];
    span->previous = NO_SPAN;
    span->next = *first;
    if (*first != NO_SPAN)
        span_at(state, *first)->previous = place_of(segment, index);
    *first = place_of(segment, index);
}

void span_leave(struct mimalloc2 *state, struct segment *segment, uint32_t index)
{
    const struct span *span = &segment->spans[index];
    if (span->previous == NO_SPAN)
        segment->owner->spans[queue_for(span->count)] = span->next;
    else
        span_at(state, span->previous)->next = span->next;
    if (span->next != NO_SPAN)
        span_at(state, span->next)->previous = span->previous;
}

uint32_t span_find(const struct mimalloc2 *state, const struct theap *theap, uint32_t count)
{
    for (unsigned queue = queue_for(count); queue < SPAN_QUEUES; queue++)
        for (uint32_t place = theap->spans[queue]; place != NO_SPAN;
             place = span_at(state, place)->next)
            if (span_at(state, place)->count >= count)
                return place;
    return NO_SPAN;
}

void span_take(struct mimalloc2 *state, uint32_t place, uint32_t count)
{
    struct segment *segment = state->segments[place / SLICES];
    uint32_t index = place % SLICES;
    struct span *span = &segment->spans[index];
    span_leave(state, segment, index);
    if (span->count > count) {
        uint32_t rest = heap_cut_off(&state->mi.heap, span->block, count * SLICE);
        span_set(state, segment, index + count,
                 (struct span){.count = span->count - count, .block = rest});
        span_enter(state, segment, index + count);
    }
    span_set(state, segment, index, (struct span){.count = count, .block = span->block});
}

/* Joins the next span to a free span. */
static void join(struct mimalloc2 *state, struct segment *segment, uint32_t low, uint32_t high)
{
    struct heap *heap = &state->mi.heap;
    heap_mark(heap, segment->spans[high].block, STATE_WASTE);
    heap_join_next(heap, segment->spans[low].block);
    segment->spans[low].count += segment->spans[high].count;
}

static bool is_free_span(const struct segment *segment, uint32_t index)
{
    return index < SLICES && segment->spans[index].page == NO_PAGE;
}

uint32_t span_free(struct mimalloc2 *state, struct segment *segment, uint32_t index)
{
    uint32_t after = index + segment->spans[index].count;
    if (is_free_span(segment, after)) {
        if (segment->owner != NULL)
            span_leave(state, segment, after);
        join(state, segment, index, after);
    }
    uint32_t below = index > state->first ? segment->first_of[index - 1] : SLICES;
    if (is_free_span(segment, below)) {
        if (segment->owner != NULL)
            span_leave(state, segment, below);
        join(state, segment, below, index);
        index = below;
    }
    span_set(state, segment, index, segment->spans[index]);
    if (segment->owner != NULL)
        span_enter(state, segment, index);
    segment_leave(state, segment, index, segment->spans[index].count);
    return index;
}
