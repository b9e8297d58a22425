#include "families/jemalloc/size_classes.h"

uint64_t jemalloc_given_by(const uint64_t *spans, uint64_t size, bool of_classes,
                           uint64_t otherwise)
{
    for (unsigned i = MAX_SPANS; i-- > 0;) {
        uint64_t first = spans[i] & 65535;
        uint64_t last = spans[i] >> 16 & 65535;
        if (of_classes)
            last = last <= 8 ? 8 : class_above(last, 16);
        if (spans[i] != 0 && size >= first && size <= last)
            return (spans[i] >> 32) - 1;
    }
    return otherwise;
}

void jemalloc_fill_slabs(struct jemalloc *state)
{
    for (uint32_t class = 0; class < SMALL_CLASSES; class++) {
        uint64_t size = class_size(class);
        uint64_t power = size & (~size + 1);
        uint64_t whole = power >= PAGE ? size / PAGE : size / power;
        uint64_t pages = jemalloc_given_by(state->slab_sizes, size, false, whole);
        uint64_t least = (size + PAGE - 1) / PAGE;
        uint64_t most = MAX_REGIONS * size / PAGE;
        pages = pages < least ? least : pages;
        state->slabs[class] = (pages < most ? pages : most) * PAGE;
    }
}

uint64_t jemalloc_aligned_size(const struct jemalloc *state, uint64_t size, uint64_t alignment)
{
    if (size <= LARGEST_SMALL && alignment <= PAGE) {
        uint64_t usable = usable_size(state, round_up_to_power(size, alignment));
        if (usable < SMALLEST_LARGE)
            return usable;
    }
    return usable_size(state, size < SMALLEST_LARGE ? SMALLEST_LARGE : size);
}

/* Returns the number of the page class of a size. Class 0 is one page. */
ALWAYS_INLINE uint32_t page_class(uint64_t size)
{
    uint64_t pages = (size + PAGE - 1) / PAGE;
    if (pages <= 4)
        return pages == 0 ? 0 : (uint32_t)pages - 1;
    unsigned doublings = floor_log2(pages - 1);
    uint64_t quarters = (pages - 1 - (UINT64_C(1) << doublings)) >> (doublings - 2);
    return 4 * (doublings - 1) + (uint32_t)quarters;
}

uint64_t jemalloc_page_class_size(uint32_t number)
{
    if (number < 4)
        return (number + 1) * PAGE;
    unsigned doublings = number / 4 + 1;
    return ((UINT64_C(1) << doublings) + ((number % 4 + UINT64_C(1)) << (doublings - 2))) * PAGE;
}

/* Returns the largest size of a large object's extent that is at most `size`. Returns `size` if all
 * are larger. */
static uint64_t extent_floor(const struct jemalloc *state, uint64_t size)
{
    uint64_t below = size > state->pad ? class_below(size - state->pad, PAGE) : 0;
    return below == 0 ? size : below + state->pad;
}

uint32_t jemalloc_bin_of(const struct jemalloc *state, uint64_t size)
{
    return page_class(extent_floor(state, size));
}

uint32_t jemalloc_first_bin(const struct jemalloc *state, uint64_t size)
{
    uint64_t floor = extent_floor(state, size);
    if (floor < size) {
        uint64_t least = floor > state->pad ? floor - state->pad : 0;
        floor = class_above(least + 1, PAGE) + state->pad;
    }
    return page_class(floor);
}

uint64_t jemalloc_batched_size(const struct jemalloc *state, uint64_t size)
{
    if (!state->page_multiples)
        return size;
    uint64_t above = class_above(size, 16);
    uint64_t huge = round_up_to_power(size, HUGE_PAGE);
    return above < huge ? above : huge;
}
