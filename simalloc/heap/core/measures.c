#include "measures.h"

#include <string.h>

#include "mechanism.h"

static void note_rise(struct measures *measures, const struct rise *rise, uint64_t live)
{
    if (measures->heap == 0)
        measures->heap_at_max_live = rise->heap; /* the first event, should live stay at 0 */
    measures->heap = rise->heap;
    if (rise->heap > measures->peak_heap) {
        measures->peak_heap = rise->heap;
        measures->live_at_peak_heap = live;
        measures->allocated_at_peak_heap = rise->allocated;
    }
    timeline_note_heap(&measures->timeline, rise->heap);
}

/* The same as a cast, of numbers below 2**63, in steps that can be taken with many at once. */
ALWAYS_INLINE double to_double(uint64_t number)
{
    uint64_t low_bits = (number & UINT32_MAX) | UINT64_C(0x433) << 52; /* 2**52 + the low half */
    uint64_t high_bits = number >> 32 | UINT64_C(0x453) << 52;         /* 2**84 + the high half */
    double low;
    double high;
    memcpy(&low, &low_bits, sizeof low);
    memcpy(&high, &high_bits, sizeof high);
    return high - (0x1p84 + 0x1p52) + low;
}

/* Measures events after each of which the break was the same, in one interval of the timeline. */
static void measure_piece(struct measures *measures, const uint64_t *lives, const int64_t *sizes,
                          size_t count)
{
    int64_t low = INT64_MAX;
    int64_t high = 0;
    int64_t allocated = 0;
    double inverses = 0;
    double inverses_by_bytes = 0;
#pragma omp simd reduction(min : low) reduction(max : high) \
    reduction(+ : allocated, inverses, inverses_by_bytes)
    for (size_t i = 0; i < count; i++) {
        int64_t live = (int64_t)lives[i];
        double inverse = live > 0 ? 1 / to_double(lives[i]) : 0;
        low = live < low ? live : low;
        high = live > high ? live : high;
        allocated += sizes[i];
        inverses += inverse;
        inverses_by_bytes += inverse * to_double((uint64_t)sizes[i]);
    }
    if (UNLIKELY(low == 0))
        for (size_t i = 0; i < count; i++)
            measures->events_without_live += lives[i] == 0;
    double heap = (double)measures->heap / (double)measures->scale;
    measures->sum_of_ratios += heap * inverses;
    measures->sum_of_ratios_by_bytes += heap * inverses_by_bytes;
    measures->allocated_bytes += (uint64_t)allocated;
    if ((uint64_t)high > measures->max_live) {
        measures->max_live = (uint64_t)high;
        measures->heap_at_max_live = measures->heap;
    }
    timeline_note(&measures->timeline, (uint64_t)low, (uint64_t)high, count);
}

static void measure_free_blocks(struct measures *measures, const uint64_t *counts, size_t events)
{
    uint64_t sum = 0;
    int64_t peak = (int64_t)measures->peak_free_blocks;
#pragma omp simd reduction(+ : sum) reduction(max : peak)
    for (size_t i = 0; i < events; i++) {
        int64_t count = (int64_t)counts[i];
        sum += counts[i];
        peak = count > peak ? count : peak;
    }
    measures->sum_of_free_blocks += sum;
    measures->peak_free_blocks = (uint64_t)peak;
}

void MECHANISM(measure)(struct measures *measures, const struct batch *batch, const int64_t *sizes)
{
    const struct rise *rise = batch->rise;
    const struct rise *end_of_rises = rise + batch->rises;
    size_t start = 0;
    while (start < batch->events) {
        size_t end =
            start + timeline_room(&measures->timeline, batch->events - start, measures->heap);
        if (rise < end_of_rises && rise->event == start) {
            note_rise(measures, rise, batch->live[start]);
            rise++;
        }
        if (rise < end_of_rises && rise->event < end)
            end = rise->event;
        measure_piece(measures, &batch->live[start], &sizes[start], end - start);
        start = end;
    }
    measure_free_blocks(measures, batch->free_blocks, batch->events);
    measures->events += batch->events;
    if (batch->events > 0)
        measures->live = batch->live[batch->events - 1];
}
