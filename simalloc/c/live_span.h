/* Sums over consecutive events that do not depend on the policy. They are computed once for each
 * trace and used by all its simulations. */
#ifndef SIMALLOC_LIVE_SPAN_H
#define SIMALLOC_LIVE_SPAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Number of events in a whole span. */
enum { SPAN_EVENTS = 256 };

/* All bytes are unscaled. */
struct live_span {
    int64_t low;       /* minimum live bytes after an event */
    int64_t high;      /* maximum live bytes after an event */
    int64_t allocated; /* bytes requested by the events */
    int64_t without_live; /* number of events after which no byte is live */
    double inverses;      /* sum of 1 / live bytes after all other events */
    double inverses_by_bytes; /* sum of requested bytes / live bytes after all other events */
};

/* Converts a number below 2**63 like a cast, in steps that can be vectorised. */
static inline __attribute__((always_inline)) double live_to_double(int64_t number)
{
    /* 2**52 + low half */
    uint64_t low_bits = ((uint64_t)number & UINT32_MAX) | UINT64_C(0x433) << 52;
    /* 2**84 + high half * 2**32 */
    uint64_t high_bits = (uint64_t)number >> 32 | UINT64_C(0x453) << 52;
    double low;
    double high;
    memcpy(&low, &low_bits, sizeof low);
    memcpy(&high, &high_bits, sizeof high);
    return high - (0x1p84 + 0x1p52) + low;
}

/* Returns the sum of numbers, in an order that does not depend on the vector width of the
 * processor. */
static inline __attribute__((always_inline)) double live_sum_of(const double *numbers, size_t count)
{
    double a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a += numbers[i];
        b += numbers[i + 1];
        c += numbers[i + 2];
        d += numbers[i + 3];
    }
    for (; i < count; i++)
        a += numbers[i];
    return (a + b) + (c + d);
}

/* Returns the sums over at most SPAN_EVENTS events. `lives` are the live bytes after each event,
 * and `sizes` the requested bytes, 0 for a free. Compilers vectorise the loop. The result is the
 * same to the last bit on every processor. */
static inline __attribute__((always_inline)) struct live_span
live_span_of(const int64_t *lives, const int64_t *sizes, size_t count)
{
    int64_t low = INT64_MAX;
    int64_t high = 0;
    int64_t allocated = 0;
    int64_t without_live = 0;
    double inverses[SPAN_EVENTS];
    double by_bytes[SPAN_EVENTS];
#pragma omp simd reduction(min : low) reduction(max : high) reduction(+ : allocated)
    for (size_t i = 0; i < count; i++) {
        inverses[i] = lives[i] > 0 ? 1 / live_to_double(lives[i]) : 0;
        by_bytes[i] = inverses[i] * live_to_double(sizes[i]);
        low = lives[i] < low ? lives[i] : low;
        high = lives[i] > high ? lives[i] : high;
        allocated += sizes[i];
    }
    if (low == 0)
        for (size_t i = 0; i < count; i++)
            without_live += lives[i] == 0;
    return (struct live_span){low, high, allocated, without_live, live_sum_of(inverses, count),
                              live_sum_of(by_bytes, count)};
}

#endif
