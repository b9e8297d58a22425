/* Columns of 64 numbers that are compared in one step. A result has one bit per slot.
 *
 * With AVX2, no branch depends on the numbers. Both implementations return the same bits. */
#ifndef SIMALLOC_SLOTS_H
#define SIMALLOC_SLOTS_H

#include "space/heap.h"

enum { SLOTS = 64 };

/* Maximum short numbers. A larger number is stored as the maximum. */
#define SHORT_SIZE INT16_MAX
#define SHORT_KEY INT32_MAX

/* Returns a size in granules of 2**granule bytes, at most SHORT_SIZE. */
ALWAYS_INLINE uint32_t in_short(uint64_t size, unsigned granule)
{
    uint64_t granules = size >> granule;
    return granules < SHORT_SIZE ? (uint32_t)granules : SHORT_SIZE;
}

#ifdef SIMALLOC_AVX2
#include "index/slots_avx2.h"
#else
#include "index/slots_portable.h"
#endif

/* Returns the bits of the slots before `slot`, which may be SLOTS. */
ALWAYS_INLINE uint64_t slots_before(uint32_t slot)
{
    return slot < SLOTS ? (UINT64_C(1) << slot) - 1 : UINT64_MAX;
}

ALWAYS_INLINE uint32_t first_slot(uint64_t slots)
{
    return (uint32_t)__builtin_ctzll(slots);
}

ALWAYS_INLINE uint32_t last_slot(uint64_t slots)
{
    return 63 - (uint32_t)__builtin_clzll(slots);
}

/* Returns the slot after the last set bit, or 0 if no bit is set. */
ALWAYS_INLINE uint32_t slot_behind(uint64_t slots)
{
    return slots == 0 ? 0 : last_slot(slots) + 1;
}

ALWAYS_INLINE uint32_t slots_count(uint64_t slots)
{
    return (uint32_t)__builtin_popcountll(slots);
}

#endif
