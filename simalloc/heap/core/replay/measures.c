#include "replay/measures.h"

#include "replay/replay.h"

static void measure_change(struct measures *measures, const struct heap_change *change, uint64_t live)
{
    measures->heap = change->heap;
    if (change->heap > measures->peak_heap) {
        measures->peak_heap = change->heap;
        measures->event_of_peak_heap = measures->events + change->event;
        measures->live_at_peak_heap = live;
        measures->allocated_at_peak_heap = change->allocated;
    }
    timeline_note_heap(&measures->timeline, change->heap);
}

/* Measures `count` events after each of which the heap was the same, in one interval of the
 * timeline. */
static void measure_span(struct measures *measures, const struct live_span *span, size_t count)
{
    double heap = (double)measures->heap / (double)measures->scale;
    measures->sum_of_ratios += heap * span->inverses;
    measures->sum_of_ratios_by_bytes += heap * span->inverses_by_bytes;
    measures->allocated_bytes += (uint64_t)span->allocated;
    measures->events_without_live += (uint64_t)span->without_live;
    if ((uint64_t)span->high > measures->max_live) {
        measures->max_live = (uint64_t)span->high;
        measures->heap_at_max_live = measures->heap;
    }
    timeline_note(&measures->timeline, (uint64_t)span->low, (uint64_t)span->high, count);
}

static void measure_free_blocks(struct measures *measures, const uint32_t *counts, size_t events)
{
    uint64_t sum = 0;
    uint32_t peak = 0;
#pragma omp simd reduction(+ : sum) reduction(max : peak)
    for (size_t i = 0; i < events; i++) {
        sum += counts[i];
        peak = counts[i] > peak ? counts[i] : peak;
    }
    measures->sum_of_free_blocks += sum;
    if (peak > measures->peak_free_blocks)
        measures->peak_free_blocks = peak;
}

void VARIANT(measure)(struct measures *measures, const struct batch *batch,
                        const struct events *events)
{
    const struct heap_change *change = batch->change;
    const struct heap_change *end_of_changes = change + batch->changes;
    size_t start = 0;
    while (start < batch->events) {
        size_t end =
            start + timeline_room(&measures->timeline, batch->events - start, measures->heap);
        if (change < end_of_changes && change->event == start) {
            measure_change(measures, change, (uint64_t)events->live[start]);
            change++;
        }
        if (measures->events + start == 0)
            measures->heap_at_max_live = measures->heap; /* should live stay at 0 */
        if (change < end_of_changes && change->event < end)
            end = change->event;
        if (LIKELY(end - start == SPAN_EVENTS && events->span_count > 0)) {
            measure_span(measures, &events->spans[0], SPAN_EVENTS);
        } else {
            struct live_span piece =
                live_span_of(&events->live[start], &events->size[start], end - start);
            measure_span(measures, &piece, end - start);
        }
        start = end;
    }
    measure_free_blocks(measures, batch->free_blocks, batch->events);
    measures->events += batch->events;
    if (batch->events > 0)
        measures->live = (uint64_t)events->live[batch->events - 1];
}
