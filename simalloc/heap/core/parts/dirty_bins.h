/* Heap of libg++: freed blocks wait unmerged, first in a list and then in bins
 * (policy/families/gxx.md). Quick fit uses this heap too. */
#ifndef SIMALLOC_DIRTY_BINS_H
#define SIMALLOC_DIRTY_BINS_H

#include "index/chain.h"

enum { DIRTY_BINS = 384, DIRTY_BIN_WORDS = DIRTY_BINS / 64 };

/* Values of `family_data` of a free block. */
enum { IS_DIRTY, IS_CLEAN, IS_REMAINDER };

struct dirty_bins {
    struct heap *heap;
    uint64_t growth;
    uint64_t preallocate;
    uint64_t minimum; /* bytes of the smallest block */
    uint64_t ends;    /* bytes at the start of the heap that the allocator keeps for itself */
    struct links links;
    struct chain returned; /* freed blocks, in STATE_CACHED */
    struct chain bins[2][DIRTY_BINS];
    uint64_t used[2][DIRTY_BIN_WORDS]; /* bit per bin, set if the bin is not empty */
    uint32_t remainder;                /* last remainder, or NO_BLOCK */
    uint32_t rover;                    /* bin at which merging continues */
    uint64_t split_before;             /* requested size of the latest split */
    uint64_t free_blocks;
};

void dirty_bins_init(struct dirty_bins *state, struct heap *heap);
void dirty_bins_release(struct dirty_bins *state);
uint32_t dirty_bins_allocate(struct dirty_bins *state, uint64_t size, uint64_t *visited);
/* Extends an allocated block by free blocks directly above it, or shrinks it. Returns false if it
 * remains too small. */
bool dirty_bins_resize(struct dirty_bins *state, uint32_t id, uint64_t size);
const char *dirty_bins_check(const struct dirty_bins *state);

ALWAYS_INLINE void dirty_bins_free(struct dirty_bins *state, uint32_t id)
{
    heap_mark(state->heap, id, STATE_CACHED);
    chain_push(&state->links, &state->returned, id);
}

#endif
