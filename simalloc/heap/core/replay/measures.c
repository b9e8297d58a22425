#include "replay/measures.h"

#include "replay/replay.h"

static void measure_change(struct footprint *footprint, const struct byte_change *change,
                           uint64_t event, uint64_t live)
{
    footprint->bytes = change->bytes;
    if (change->bytes > footprint->peak) {
        footprint->peak = change->bytes;
        footprint->event_of_peak = event;
        footprint->live_at_peak = live;
        footprint->allocated_at_peak = change->allocated;
    }
    if (change->bytes < footprint->lowest) {
        footprint->lowest = change->bytes;
        footprint->event_of_lowest = event;
    }
    timeline_note_heap(&footprint->timeline, change->bytes);
}

/* Measures `count` events with the same bytes after each, in one interval of the timeline.
 * `max_live` is the peak of the live bytes before these events, and is raised by them. */
static void measure_span(struct footprint *footprint, const struct live_span *span, size_t count,
                         uint64_t scale, uint64_t *max_live)
{
    double bytes = (double)footprint->bytes / (double)scale;
    footprint->sum += bytes * (double)count;
    footprint->sum_of_ratios += bytes * span->inverses;
    footprint->sum_of_ratios_by_bytes += bytes * span->inverses_by_bytes;
    if ((uint64_t)span->high > *max_live) {
        *max_live = (uint64_t)span->high;
        footprint->at_max_live = footprint->bytes;
    }
    timeline_note(&footprint->timeline, (uint64_t)span->low, (uint64_t)span->high, count);
}

/* Measures the bytes after each event of a batch. Stores the computed totals of the live bytes in
 * `live`. */
static void measure_footprint(const struct measures *measures, struct footprint *footprint,
                              const struct changes *changes, const struct batch *batch,
                              const struct events *events, struct live_span *live)
{
    const struct byte_change *change = changes->at;
    const struct byte_change *end_of_changes = change + changes->count;
    uint64_t max_live = measures->max_live;
    size_t start = 0;
    while (start < batch->events) {
        size_t end =
            start + timeline_room(&footprint->timeline, batch->events - start, footprint->bytes);
        if (change < end_of_changes && change->event == start) {
            measure_change(footprint, change, measures->events + start,
                           (uint64_t)events->live[start]);
            change++;
        }
        /* Initial values, in case the live bytes or the bytes remain 0. */
        if (measures->events + start == 0) {
            footprint->at_max_live = footprint->lowest = footprint->bytes;
            footprint->live_at_peak = (uint64_t)events->live[start];
        }
        if (change < end_of_changes && change->event < end)
            end = change->event;
        struct live_span span = LIKELY(end - start == SPAN_EVENTS && events->span_count > 0)
                                    ? events->spans[0]
                                    : live_span_of(&events->live[start], &events->size[start],
                                                   end - start);
        measure_span(footprint, &span, end - start, measures->scale, &max_live);
        live->allocated += span.allocated;
        live->without_live += span.without_live;
        start = end;
    }
    live->high = (int64_t)max_live;
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
    struct live_span live = {0};
    for (size_t i = 0; batch->has_series && i < measures->series_count; i++)
        measure_footprint(measures, &measures->series[i].footprint, &measures->series[i].changes,
                          batch, events, &(struct live_span){0});
    measure_footprint(measures, &measures->mapped, &batch->mapped, batch, events, &live);
    measure_free_blocks(measures, batch->free_blocks, batch->events);
    measures->max_live = (uint64_t)live.high;
    measures->allocated_bytes += (uint64_t)live.allocated;
    measures->events_without_live += (uint64_t)live.without_live;
    measures->events += batch->events;
    if (batch->events > 0)
        measures->live = (uint64_t)events->live[batch->events - 1];
}
