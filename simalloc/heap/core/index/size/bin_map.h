/* The set of non-empty bins, as two levels of bitmaps. */
#ifndef SIMALLOC_BIN_MAP_H
#define SIMALLOC_BIN_MAP_H

#include "space/heap.h"

enum { BIN_GROUPS = 4, BIN_WORDS = 64 * BIN_GROUPS, BINS = 64 * BIN_WORDS };

struct bin_map {
    uint64_t groups[BIN_GROUPS]; /* bit w of group g: words[64 * g + w] is not 0 */
    uint64_t words[BIN_WORDS];   /* bit b of word w: bin 64 * w + b is not empty */
};

ALWAYS_INLINE void bin_map_set(struct bin_map *map, uint32_t bin)
{
    map->words[bin / 64] |= UINT64_C(1) << bin % 64;
    map->groups[bin / 64 / 64] |= UINT64_C(1) << bin / 64 % 64;
}

ALWAYS_INLINE void bin_map_clear(struct bin_map *map, uint32_t bin)
{
    map->words[bin / 64] &= ~(UINT64_C(1) << bin % 64);
    if (map->words[bin / 64] == 0)
        map->groups[bin / 64 / 64] &= ~(UINT64_C(1) << bin / 64 % 64);
}

/* Returns the first word after `word` that has a non-empty bin, or BIN_WORDS. */
ALWAYS_INLINE uint32_t bin_map_word_behind(const struct bin_map *map, uint32_t word)
{
    uint32_t group = word / 64;
    uint64_t bits = map->groups[group] & UINT64_MAX << 1 << word % 64;
    while (UNLIKELY(bits == 0)) {
        if (++group == BIN_GROUPS)
            return BIN_WORDS;
        bits = map->groups[group];
    }
    return 64 * group + (uint32_t)__builtin_ctzll(bits);
}

/* Returns the lowest non-empty bin from `from` on, or BINS. */
ALWAYS_INLINE uint32_t bin_map_from(const struct bin_map *map, uint32_t from)
{
    uint32_t word = from / 64;
    uint64_t bits = map->words[word] & (UINT64_MAX << (from % 64));
    if (bits == 0) {
        word = bin_map_word_behind(map, word);
        if (word == BIN_WORDS)
            return BINS;
        bits = map->words[word];
    }
    return 64 * word + (uint32_t)__builtin_ctzll(bits);
}

/* Returns the highest non-empty bin, or BINS. */
ALWAYS_INLINE uint32_t bin_map_last(const struct bin_map *map)
{
    for (uint32_t group = BIN_GROUPS; group-- > 0;)
        if (map->groups[group] != 0) {
            uint32_t word = 64 * group + 63 - (uint32_t)__builtin_clzll(map->groups[group]);
            return 64 * word + 63 - (uint32_t)__builtin_clzll(map->words[word]);
        }
    return BINS;
}

#endif
