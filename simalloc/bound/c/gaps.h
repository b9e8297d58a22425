/* The gaps between objects, sorted by address or by size.
 *
 * They stand in chunks of at most 64, in order, so that a search goes over arrays: over the chunks,
 * then within one. With some thousands of gaps, as real programs have, that is faster than a tree;
 * with n of them it takes O(n / 64) at worst for first fit, O(log n) for all else but the moving
 * of up to 64 gaps and, once in 32 insertions, of the chunks' table. */
#ifndef SIMALLOC_GAPS_H
#define SIMALLOC_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_GAPS = 64 };

/* Of gaps that are sorted by address, `key` is the address and `rest` the size; of gaps that are
 * sorted by size it is the other way round, and `rest` decides among equals. */
struct gap_chunk {
    uint32_t count;
    uint32_t block[CHUNK_GAPS]; /* the gap's number in the placement */
    uint64_t key[CHUNK_GAPS];
    uint64_t rest[CHUNK_GAPS];
};

struct gap_place {
    size_t chunk;
    uint32_t index;
};

struct gaps {
    bool by_size;
    size_t chunks;
    size_t room;
    struct gap_chunk **chunk; /* none is empty */
    uint64_t *largest;        /* the largest size of each chunk; only if sorted by address */
    struct gap_chunk *spare;  /* one chunk at most, to be used again */
};

void gaps_init(struct gaps *gaps, bool by_size);
void gaps_destroy(struct gaps *gaps);
/* False if memory is exhausted; then nothing has changed. */
bool gaps_insert(struct gaps *gaps, uint64_t address, uint64_t size, uint32_t block);
void gaps_remove(struct gaps *gaps, uint64_t address, uint64_t size);
/* Gives a gap other bounds, between the same neighbours. False as gaps_insert(). */
bool gaps_change(struct gaps *gaps, uint64_t address, uint64_t size, uint64_t to_address,
                 uint64_t to_size, uint32_t block);
/* The lowest gap of at least `size` bytes, or NONE; of gaps by address. */
uint32_t gaps_first_fit(const struct gaps *gaps, uint64_t size);
/* Where the smallest gap of at least `size` bytes stands, the lowest of equals; of gaps by size. */
struct gap_place gaps_best_fit(const struct gaps *gaps, uint64_t size);
/* The block at a place, which then is the next one; NONE at the end. */
uint32_t gaps_next(const struct gaps *gaps, struct gap_place *place);

#endif
