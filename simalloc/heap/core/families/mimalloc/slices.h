/* The free slices of an arena of mimalloc 3, by chunks that are reserved for runs of a kind. */
#ifndef SIMALLOC_MIMALLOC_SLICES_H
#define SIMALLOC_MIMALLOC_SLICES_H

#include "space/heap.h"

enum {
    CHUNK = 512,          /* slices, in which a search looks for a run */
    WORDS_OF_CHUNK = CHUNK / 64,
    CHUNKS_OF_GROUP = 64, /* chunks that are examined together */
};

#define NO_SLICE UINT32_MAX

/* Kinds of chunks, in the order of a search. */
enum chunk_kind { SMALL_RUNS, OTHER_RUNS, MEDIUM_RUNS, LARGE_RUNS, HUGE_RUNS, ANY_RUNS };

struct chunk {
    uint64_t free[WORDS_OF_CHUNK];
    uint8_t kind;    /* enum chunk_kind */
    bool is_hopeful; /* something may be free */
};

struct slice_map {
    struct chunk *chunks;
    uint32_t count;
    uint32_t highest; /* chunk in which something was freed, or nothing was found to be free */
};

/* A walk through the numbers below `end`: from `start` modulo `wrap` to `wrap`, then from 0 on. */
struct rotation {
    uint32_t first;
    uint32_t wrap;
    uint32_t end;
};

ALWAYS_INLINE struct rotation rotation(uint32_t start, uint32_t wrap, uint32_t end)
{
    return (struct rotation){start % wrap, wrap, end};
}

/* The number that comes at a place of the walk. */
ALWAYS_INLINE uint32_t rotated(const struct rotation *rotation, uint32_t place)
{
    if (place >= rotation->wrap)
        return place;
    uint32_t number = rotation->first + place;
    return number < rotation->wrap ? number : number - rotation->wrap;
}

/* Returns whether `count` bits from `index` on are all set. */
bool bits_have_all(const uint64_t *bits, uint32_t index, uint32_t count);
/* Sets or clears the bits from `index` on; returns how many of them change. */
uint32_t bits_set(uint64_t *bits, uint32_t index, uint32_t count);
void bits_clear(uint64_t *bits, uint32_t index, uint32_t count);

/* Makes a map of free slices; false when memory is exhausted. */
bool slices_init(struct slice_map *map, uint32_t chunks);

bool slices_are_free(const struct slice_map *map, uint32_t index);

/* Returns the first of `count` free slices for the thread of a number, or NO_SLICE. */
uint32_t slices_find(struct slice_map *map, uint32_t count, uint32_t sequence);

/* Uses slices that are free. */
void slices_take(struct slice_map *map, uint32_t index, uint32_t count);

/* Lets chunks of no kind at whose very start a run begins be of that run's kind. */
void slices_keep_for(struct slice_map *map, uint32_t index, uint32_t count);

/* Makes slices free. */
void slices_put(struct slice_map *map, uint32_t index, uint32_t count);

#endif
