#include "families/jemalloc/extents.h"

/* maximum number of extents examined in the next bin below the bins whose extents all fit */
enum { MAX_EXAMINED = 32 };

ALWAYS_INLINE bool bin_is_filled(const struct extent_cache *cache, uint32_t bin)
{
    return (cache->filled[bin / 64] >> bin % 64 & 1) != 0;
}

/* Returns the first bin with an extent, from `bin` on, or PAGE_BINS. */
ALWAYS_INLINE uint32_t next_filled_bin(const struct extent_cache *cache, uint32_t bin)
{
    while (bin < PAGE_BINS) {
        uint64_t word = cache->filled[bin / 64] >> bin % 64;
        if (word != 0)
            return bin + (uint32_t)__builtin_ctzll(word);
        bin = (bin / 64 + 1) * 64;
    }
    return PAGE_BINS;
}

void jemalloc_cache_insert(struct jemalloc *state, struct extent_cache *cache, uint32_t number)
{
    struct extent *at = state->extents.at;
    uint32_t bin = jemalloc_bin_of(state, at[number].size);
    if (!bin_is_filled(cache, bin) || at[number].address < at[cache->least[bin]].address)
        cache->least[bin] = number;
    cache->filled[bin / 64] |= UINT64_C(1) << bin % 64;
    jemalloc_pairing_insert(at, &cache->bins[bin], number);
    at[number].older = cache->newest;
    at[number].newer = NO_EXTENT;
    if (cache->newest == NO_EXTENT)
        cache->oldest = number;
    else
        at[cache->newest].newer = number;
    cache->newest = number;
    at[number].use = (uint8_t)cache->use;
    cache->pages += at[number].size / PAGE;
}

void jemalloc_cache_remove(struct jemalloc *state, struct extent_cache *cache, uint32_t number)
{
    struct extent *at = state->extents.at;
    struct extent *extent = &at[number];
    uint32_t bin = jemalloc_bin_of(state, extent->size);
    jemalloc_pairing_remove(at, &cache->bins[bin], number);
    if (cache->bins[bin].root == NO_EXTENT)
        cache->filled[bin / 64] &= ~(UINT64_C(1) << bin % 64);
    else if (cache->least[bin] == number)
        cache->least[bin] = jemalloc_pairing_min(at, &cache->bins[bin]);
    if (extent->older == NO_EXTENT)
        cache->oldest = extent->newer;
    else
        at[extent->older].newer = extent->newer;
    if (extent->newer == NO_EXTENT)
        cache->newest = extent->older;
    else
        at[extent->newer].older = extent->older;
    extent->use = ACTIVE;
    cache->pages -= extent->size / PAGE;
}

static bool extent_holds(const struct jemalloc *state, const struct extent *extent,
                                uint64_t size, uint64_t alignment)
{
    uint64_t start = aligned_address(state, extent, alignment) - extent->address;
    return start <= extent->size && extent->size - start >= size;
}

/* Lists the examined extents of the next bin below the bins whose extents all have at least `size`
 * bytes. Returns their number. */
static unsigned list_bin_below(const struct jemalloc *state,
                                      const struct extent_cache *cache, uint64_t size,
                                      uint32_t *found)
{
    uint32_t bin = jemalloc_bin_of(state, size);
    if (!state->page_multiples || bin == jemalloc_first_bin(state, size))
        return 0;
    return jemalloc_pairing_list(state->extents.at, &cache->bins[bin], MAX_EXAMINED, found);
}

/* Returns the first extent with at least `size` bytes, or NO_EXTENT. */
static uint32_t cache_fit(struct jemalloc *state, struct extent_cache *cache, uint64_t size)
{
    struct extent *at = state->extents.at;
    uint32_t listed[2 * MAX_EXAMINED + 1];
    unsigned count = list_bin_below(state, cache, size, listed);
    uint32_t best = NO_EXTENT;
    for (unsigned i = 0; i < count; i++)
        if (at[listed[i]].size >= size &&
            (best == NO_EXTENT || at[listed[i]].address < at[best].address))
            best = listed[i];
    uint32_t bin = next_filled_bin(cache, jemalloc_first_bin(state, size));
    for (; bin < PAGE_BINS; bin = next_filled_bin(cache, bin + 1)) {
        if (jemalloc_page_class_size(bin) >> cache->most > size)
            break;
        if (best == NO_EXTENT || at[cache->least[bin]].address < at[best].address)
            best = jemalloc_pairing_min(at, &cache->bins[bin]);
    }
    return best;
}

/* Returns an extent that can hold `size` bytes at an alignment, or NO_EXTENT. Tries only the first
 * extent of each bin. */
static uint32_t cache_fit_aligned(struct jemalloc *state, struct extent_cache *cache,
                                         uint64_t size, uint64_t alignment)
{
    struct extent *at = state->extents.at;
    uint32_t listed[2 * MAX_EXAMINED + 1];
    unsigned count = list_bin_below(state, cache, size, listed);
    for (unsigned i = 0; i < count; i++)
        if (extent_holds(state, &at[listed[i]], size, alignment))
            return listed[i];
    uint32_t end = jemalloc_first_bin(state, size + alignment - PAGE);
    uint32_t bin = next_filled_bin(cache, jemalloc_first_bin(state, size));
    for (; bin < end; bin = next_filled_bin(cache, bin + 1)) {
        uint32_t least = jemalloc_pairing_min(at, &cache->bins[bin]);
        if (extent_holds(state, &at[least], size, alignment))
            return least;
    }
    return NO_EXTENT;
}

uint32_t jemalloc_cache_find(struct jemalloc *state, struct extent_cache *cache, uint64_t size,
                             uint64_t alignment)
{
    uint64_t lead = alignment > PAGE ? alignment - PAGE : 0;
    uint32_t found = cache_fit(state, cache, size + lead);
    if (found == NO_EXTENT && lead > 0)
        found = cache_fit_aligned(state, cache, size, alignment);
    return found;
}
