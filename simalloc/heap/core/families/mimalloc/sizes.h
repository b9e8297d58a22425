/* Block sizes that all versions of mimalloc share (policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC_SIZES_H
#define SIMALLOC_MIMALLOC_SIZES_H

#include "space/heap.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define SLICE (64 * KIB) /* bytes of a slice, the unit of pages, spans and arenas */

/* Returns the bin for requests of `size` bytes. Each doubling of the size has four bins. */
ALWAYS_INLINE unsigned bin_of(uint64_t size)
{
    if (size <= 8)
        return 0;
    if (size <= 64)
        return (unsigned)((size + 15) / 16);
    unsigned bits = 64 - (unsigned)__builtin_clzll(size - 1);
    return 4 * bits + (unsigned)((size - 1) >> (bits - 3)) - 27;
}

ALWAYS_INLINE uint64_t size_of_bin(unsigned bin)
{
    if (bin == 0)
        return 8;
    if (bin <= 4)
        return UINT64_C(16) * bin;
    return (uint64_t)((bin - 5) % 4 + 5) << ((bin - 5) / 4 + 4);
}

/* Returns the size of the system request for `size` bytes: larger sizes are rounded more coarsely.
 */
ALWAYS_INLINE uint64_t system_size(uint64_t size, uint64_t smallest_unit)
{
    if (size < 512 * KIB)
        return round_up(size, smallest_unit);
    if (size < 2 * MIB)
        return round_up(size, SLICE);
    if (size < 8 * MIB)
        return round_up(size, 256 * KIB);
    return round_up(size, size < 32 * MIB ? MIB : 4 * MIB);
}

/* Returns the largest power of two that divides a number. */
ALWAYS_INLINE uint64_t lowest_bit(uint64_t number)
{
    return number & (~number + 1);
}

#endif
