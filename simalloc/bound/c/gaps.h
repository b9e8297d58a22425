/* Gaps between objects, sorted by address or by size.
 *
 * The gaps are in sorted chunks of at most 64 gaps. A search examines arrays: first the chunks,
 * then one chunk. With some thousands of gaps, as in real programs, this is faster than a tree.
 * With n gaps, first fit takes O(n / 64) time in the worst case. All other operations take O(log n)
 * time, apart from moves of up to 64 gaps and, once in 32 insertions, of the table of chunks. */
#ifndef SIMALLOC_GAPS_H
#define SIMALLOC_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_GAPS = 64 };

/* If gaps are sorted by address, `key` is the address and `rest` is the size. If gaps are sorted by
 * size, `key` is the size and `rest` is the address, which orders gaps of equal size. */
struct gap_chunk {
    uint32_t count;
    uint32_t block[CHUNK_GAPS]; /* number of the gap in the placement */
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
    struct gap_chunk **chunk; /* chunks, each with at least one gap */
    /* By chunk: size of the largest gap; valid only if sorted by address. */
    uint64_t *largest;
    struct gap_chunk *spare;  /* unused chunk for reuse, or NULL */
};

void gaps_init(struct gaps *gaps, bool by_size);
void gaps_destroy(struct gaps *gaps);
/* Inserts a gap. Returns false, without a change, if memory is exhausted. */
bool gaps_insert(struct gaps *gaps, uint64_t address, uint64_t size, uint32_t block);
void gaps_remove(struct gaps *gaps, uint64_t address, uint64_t size);
/* Changes the bounds of a gap between the same neighbours. Returns false if memory is exhausted. */
bool gaps_change(struct gaps *gaps, uint64_t address, uint64_t size, uint64_t to_address,
                 uint64_t to_size, uint32_t block);
/* Returns the lowest gap with at least `size` bytes, or NONE. The gaps must be sorted by
 * address. */
uint32_t gaps_first_fit(const struct gaps *gaps, uint64_t size);
/* Returns the place of the smallest gap with at least `size` bytes, the lowest among equals. The
 * gaps must be sorted by size. */
struct gap_place gaps_best_fit(const struct gaps *gaps, uint64_t size);
/* Returns the gap at a place, or NONE at the end, and advances the place. */
uint32_t gaps_next(const struct gaps *gaps, struct gap_place *place);

#endif
