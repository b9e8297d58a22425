/* Bin numbers of the mallocs of Doug Lea and glibc, in one sequence for all sizes.
 *
 *   number of a size = first + (size >> shift), for the first range with size < end
 *
 * Sizes of two ranges share a bin if their numbers are equal. For example, Lea's sizes from 40,960
 * to 43,519 share number 120 with the sizes from 43,520 to 65,535. */
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
