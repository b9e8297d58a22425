/* Sizes of jemalloc: classes of objects, slabs, and page classes of extents. */
#ifndef SIMALLOC_JEMALLOC_SIZE_CLASSES_H
#define SIMALLOC_JEMALLOC_SIZE_CLASSES_H

#include "families/jemalloc/jemalloc.h"

/* Returns the value of the last of an option's spans that contains a size, or `otherwise`. With
 * `of_classes` a span contains every class to which one of its sizes belongs. */
uint64_t jemalloc_given_by(const uint64_t *spans, uint64_t size, bool of_classes,
                           uint64_t otherwise);

/* Sets the bytes of the slabs of each class: the pages of the option, or the minimum number of
 * pages that is a whole number of regions. */
void jemalloc_fill_slabs(struct jemalloc *state);

/* Returns the usable size of an object for `size` bytes at an alignment. */
uint64_t jemalloc_aligned_size(const struct jemalloc *state, uint64_t size, uint64_t alignment);

uint64_t jemalloc_page_class_size(uint32_t number);

/* Returns the bin of an extent of `size` bytes. */
uint32_t jemalloc_bin_of(const struct jemalloc *state, uint64_t size);

/* Returns the first bin whose extents all have at least `size` bytes. */
uint32_t jemalloc_first_bin(const struct jemalloc *state, uint64_t size);

/* Returns the size of the batch of unused addresses from which `size` bytes are taken. */
uint64_t jemalloc_batched_size(const struct jemalloc *state, uint64_t size);

ALWAYS_INLINE unsigned floor_log2(uint64_t number)
{
    return 63 - (unsigned)__builtin_clzll(number);
}

ALWAYS_INLINE uint64_t round_up_to_power(uint64_t size, uint64_t power)
{
    return (size + power - 1) & ~(power - 1);
}

/* Returns the smallest power of two that is at least `number`. */
ALWAYS_INLINE uint64_t power_above(uint64_t number)
{
    return number <= 1 ? 1 : UINT64_C(2) << floor_log2(number - 1);
}

/* Returns the smallest class of at least `size` bytes. Classes are multiples of `grain` up to 4 *
 * grain, then four per doubling. */
ALWAYS_INLINE uint64_t class_above(uint64_t size, uint64_t grain)
{
    if (size <= 4 * grain)
        return size == 0 ? grain : round_up_to_power(size, grain);
    return round_up_to_power(size, UINT64_C(1) << (floor_log2(size - 1) - 2));
}

/* Returns the largest class of at most `size`, or 0. */
ALWAYS_INLINE uint64_t class_below(uint64_t size, uint64_t grain)
{
    uint64_t width = size < 4 * grain ? grain : UINT64_C(1) << (floor_log2(size) - 2);
    return size & ~(width - 1);
}

ALWAYS_INLINE uint32_t class_number(uint64_t size)
{
    if (size <= 64)
        return size <= 8 ? 0 : (uint32_t)((size + 15) / 16);
    unsigned doublings = floor_log2(size - 1);
    uint64_t quarters = (size - 1 - (UINT64_C(1) << doublings)) >> (doublings - 2);
    return 4 * doublings + (uint32_t)quarters - 19;
}

ALWAYS_INLINE uint64_t class_size(uint32_t number)
{
    if (number <= 4)
        return number == 0 ? 8 : UINT64_C(16) * number;
    unsigned doublings = (number + 19) / 4;
    uint64_t quarters = (number + 19) % 4 + 1;
    return (UINT64_C(1) << doublings) + (quarters << (doublings - 2));
}

/* Returns the usable size of an object for `size` bytes. */
ALWAYS_INLINE uint64_t usable_size(const struct jemalloc *state, uint64_t size)
{
    if (size <= 8)
        return 8;
    if (size > LARGEST_SMALL && state->page_multiples)
        return round_up_to_power(size, PAGE);
    return class_above(size, 16);
}

#endif
