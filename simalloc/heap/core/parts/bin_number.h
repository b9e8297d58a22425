/* The bins of Lea's mallocs and glibc's, which are numbered in one sequence.
 *
 *   number of a size = first + (size >> shift), by the first range whose end is above the size
 *
 * Numbers of two ranges may be equal: their sizes then share a bin. For example, Lea's sizes from
 * 40,960 to 43,519 have number 120, as those up to 65,535 have. */
#ifndef SIMALLOC_BIN_NUMBER_H
#define SIMALLOC_BIN_NUMBER_H

#include "space/heap.h"

enum { LAST_BIN = 126 }; /* bin of all sizes above the last range */

struct bin_range {
    uint64_t end;
    unsigned shift, first;
};

static const struct bin_range lea_bins[] = {{512, 3, 0},      {2560, 6, 56},    {10752, 9, 91},
                                            {43520, 12, 110}, {174592, 15, 119}, {698880, 18, 124}};

ALWAYS_INLINE uint64_t bin_number(const struct bin_range *ranges, size_t count, uint64_t size)
{
    for (size_t i = 0; i < count; i++)
        if (size < ranges[i].end)
            return ranges[i].first + (size >> ranges[i].shift);
    return LAST_BIN;
}

/* Returns whether two sizes share one of Lea's bins. */
ALWAYS_INLINE bool lea_share_bin(uint64_t one, uint64_t other)
{
    const size_t count = sizeof lea_bins / sizeof *lea_bins;
    return bin_number(lea_bins, count, one) == bin_number(lea_bins, count, other);
}

#endif
