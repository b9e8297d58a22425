/* Sizes of jemalloc: classes of objects, slabs, and classes of extents. */
#ifndef SIMALLOC_JEMALLOC_SIZES_H
#define SIMALLOC_JEMALLOC_SIZES_H

#include "families/jemalloc/jemalloc.h"

ALWAYS_INLINE unsigned floor_log2(uint64_t number)
{
    return 63 - (unsigned)__builtin_clzll(number);
}

ALWAYS_INLINE uint64_t round_up_to_power(uint64_t size, uint64_t power)
{
    return (size + power - 1) & ~(power - 1);
}

/* The least power of two that is not below a number. */
ALWAYS_INLINE uint64_t power_above(uint64_t number)
{
    return number <= 1 ? 1 : UINT64_C(2) << floor_log2(number - 1);
}

/* The least class of at least `size`: multiples of `grain`, from 4 on 4 a doubling. */
ALWAYS_INLINE uint64_t class_above(uint64_t size, uint64_t grain)
{
    if (size <= 4 * grain)
        return size == 0 ? grain : round_up_to_power(size, grain);
    return round_up_to_power(size, UINT64_C(1) << (floor_log2(size - 1) - 2));
}

/* The greatest class of at most `size`; 0: there is none. */
ALWAYS_INLINE uint64_t class_below(uint64_t size, uint64_t grain)
{
    uint64_t width = size < 4 * grain ? grain : UINT64_C(1) << (floor_log2(size) - 2);
    return size & ~(width - 1);
}

/* The number of the class that a size belongs to. */
ALWAYS_INLINE uint32_t class_number(uint64_t size)
{
    if (size <= 64)
        return size <= 8 ? 0 : (uint32_t)((size + 15) / 16);
    unsigned doublings = floor_log2(size - 1);
    uint64_t quarters = (size - 1 - (UINT64_C(1) << doublings)) >> (doublings - 2);
    return 4 * doublings + (uint32_t)quarters - 19;
}

/* The size of a class. */
ALWAYS_INLINE uint64_t class_size(uint32_t number)
{
    if (number <= 4)
        return number == 0 ? 8 : UINT64_C(16) * number;
    unsigned doublings = (number + 19) / 4;
    uint64_t quarters = (number + 19) % 4 + 1;
    return (UINT64_C(1) << doublings) + (quarters << (doublings - 2));
}

/* What the last of an option's spans that has a size gives it; `otherwise`: none has it. With
 * `of_classes` they have the size of each class that a size in them belongs to. */
static inline uint64_t given_by(const uint64_t *spans, uint64_t size, bool of_classes,
                                uint64_t otherwise)
{
    for (unsigned i = MOST_SPANS; i-- > 0;) {
        uint64_t first = spans[i] & 65535;
        uint64_t last = spans[i] >> 16 & 65535;
        if (of_classes)
            last = last <= 8 ? 8 : class_above(last, 16);
        if (spans[i] != 0 && size >= first && size <= last)
            return (spans[i] >> 32) - 1;
    }
    return otherwise;
}

/* Fills in the bytes of the slabs: as many pages as is said, else the fewest of whole regions. */
static inline void fill_slabs(struct jemalloc *state)
{
    for (uint32_t class = 0; class < SMALL_CLASSES; class++) {
        uint64_t size = class_size(class);
        uint64_t power = size & (~size + 1);
        uint64_t whole = power >= PAGE ? size / PAGE : size / power;
        uint64_t pages = given_by(state->slab_sizes, size, false, whole);
        uint64_t least = (size + PAGE - 1) / PAGE;
        uint64_t most = MOST_REGIONS * size / PAGE;
        pages = pages < least ? least : pages;
        state->slabs[class] = (pages < most ? pages : most) * PAGE;
    }
}

/* The bytes of the object that is given for `size`. */
ALWAYS_INLINE uint64_t usable_size(const struct jemalloc *state, uint64_t size)
{
    if (size <= 8)
        return 8;
    if (size > LARGEST_SMALL && state->page_multiples)
        return round_up_to_power(size, PAGE);
    return class_above(size, 16);
}

/* The same at an alignment. */
static inline uint64_t aligned_size(const struct jemalloc *state, uint64_t size, uint64_t alignment)
{
    if (size <= LARGEST_SMALL && alignment <= PAGE) {
        uint64_t usable = usable_size(state, round_up_to_power(size, alignment));
        if (usable < SMALLEST_LARGE)
            return usable;
    }
    return usable_size(state, size < SMALLEST_LARGE ? SMALLEST_LARGE : size);
}

/* The number of the page class, from 1 page on, that a size belongs to. */
ALWAYS_INLINE uint32_t page_class(uint64_t size)
{
    uint64_t pages = (size + PAGE - 1) / PAGE;
    if (pages <= 4)
        return pages == 0 ? 0 : (uint32_t)pages - 1;
    unsigned doublings = floor_log2(pages - 1);
    uint64_t quarters = (pages - 1 - (UINT64_C(1) << doublings)) >> (doublings - 2);
    return 4 * (doublings - 1) + (uint32_t)quarters;
}

static inline uint64_t page_class_size(uint32_t number)
{
    if (number < 4)
        return (number + 1) * PAGE;
    unsigned doublings = number / 4 + 1;
    return ((UINT64_C(1) << doublings) + ((number % 4 + UINT64_C(1)) << (doublings - 2))) * PAGE;
}

/* The greatest size of a large object's extent that is not above `size`; else `size`. */
static inline uint64_t extent_floor(const struct jemalloc *state, uint64_t size)
{
    uint64_t below = size > state->pad ? class_below(size - state->pad, PAGE) : 0;
    return below == 0 ? size : below + state->pad;
}

/* The bin that an extent lies in. */
static inline uint32_t bin_of(const struct jemalloc *state, uint64_t size)
{
    return page_class(extent_floor(state, size));
}

/* The first bin whose extents all have at least `size` bytes. */
static inline uint32_t first_bin(const struct jemalloc *state, uint64_t size)
{
    uint64_t floor = extent_floor(state, size);
    if (floor < size) {
        uint64_t least = floor > state->pad ? floor - state->pad : 0;
        floor = class_above(least + 1, PAGE) + state->pad;
    }
    return page_class(floor);
}

/* How much is taken at once of addresses that are not in use, for `size`. */
static inline uint64_t batched_size(const struct jemalloc *state, uint64_t size)
{
    if (!state->page_multiples)
        return size;
    uint64_t above = class_above(size, 16);
    uint64_t huge = round_up_to_power(size, HUGE_PAGE);
    return above < huge ? above : huge;
}

#endif
