/* The free slices of a mimalloc 3 arena. Slices are grouped into chunks, which are kept for runs of
 * one kind. */
#ifndef SIMALLOC_MIMALLOC_SLICES_H
#define SIMALLOC_MIMALLOC_SLICES_H

#include "space/heap.h"

enum {
    CHUNK = 512, /* slices of a chunk; a run of up to CHUNK slices does not cross chunks */
    WORDS_OF_CHUNK = CHUNK / 64,
    CHUNKS_OF_GROUP = 64, /* number of chunks that a search examines together */
};

#define NO_SLICE UINT32_MAX

/* Kinds of chunks, in the order of a search. */
enum chunk_kind { SMALL_RUNS, OTHER_RUNS, MEDIUM_RUNS, LARGE_RUNS, HUGE_RUNS, ANY_RUNS };

struct chunk {
    uint64_t free[WORDS_OF_CHUNK];
    uint8_t kind;    /* enum chunk_kind */
    bool is_hopeful; /* true if the chunk may have a free slice */
};

struct slice_map {
    struct chunk *chunks;
    uint32_t count;
    uint32_t highest; /* highest chunk that a free or a failed search has reached */
};

/* A walk through the numbers below `end`: circularly through those below `wrap`, starting at
 * `first`, and then from `wrap` on. */
struct rotation {
    uint32_t first;
    uint32_t wrap;
    uint32_t end;
};

ALWAYS_INLINE struct rotation rotation(uint32_t start, uint32_t wrap, uint32_t end)
{
    return (struct rotation){start % wrap, wrap, end};
}

/* Returns the number at a position of the walk. */
ALWAYS_INLINE uint32_t rotated(const struct rotation *rotation, uint32_t place)
{
    if (place >= rotation->wrap)
        return place;
    uint32_t number = rotation->first + place;
    return number < rotation->wrap ? number : number - rotation->wrap;
}

bool bits_have_all(const uint64_t *bits, uint32_t index, uint32_t count);
/* Sets `count` bits from `index` on. Returns the number of bits that change. */
uint32_t bits_set(uint64_t *bits, uint32_t index, uint32_t count);
void bits_clear(uint64_t *bits, uint32_t index, uint32_t count);

/* Makes a map of free slices. Returns false if memory is exhausted. */
bool slices_init(struct slice_map *map, uint32_t chunks);

bool slices_are_free(const struct slice_map *map, uint32_t index);

/* Returns the first of `count` consecutive free slices in the search order of the thread
 * `sequence`, or NO_SLICE. */
uint32_t slices_find(struct slice_map *map, uint32_t count, uint32_t sequence);

/* Marks free slices as used. */
void slices_take(struct slice_map *map, uint32_t index, uint32_t count);

/* Assigns the run's kind to each chunk whose first slice is in the run, unless the chunk already
 * has a kind. */
void slices_keep_for(struct slice_map *map, uint32_t index, uint32_t count);

/* Marks slices as free. */
void slices_put(struct slice_map *map, uint32_t index, uint32_t count);

#endif
