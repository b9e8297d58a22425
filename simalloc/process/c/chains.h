/* Walks the chunk chains and lists of glibc's malloc in a copy of memory.
 *
 * Every function visits at most `capacity` items, so that an endless list cannot cause an endless
 * loop. */
#ifndef SIMALLOC_CHAINS_H
#define SIMALLOC_CHAINS_H

#include "memory.h"

enum chain_end {
    CHAIN_DONE,    /* the chain ended at the required address */
    CHAIN_FULL,    /* more items than `capacity` */
    CHAIN_FENCE,   /* a size of 16 or 0, which marks the end of an arena's piece */
    CHAIN_SIZE,    /* an impossible size, or a chunk that extends beyond the end */
    CHAIN_OUTSIDE, /* an address that is not in memory or not aligned */
    CHAIN_BROKEN   /* a link whose back link does not match */
};

struct chain {
    size_t count;        /* number of visited items */
    uint64_t next;       /* address of the first item that was not visited */
    enum chain_end end;
};

/* Visits the chunks from `start` up to `stop`. Stores their addresses and their size words, which
 * contain the three flags. */
struct chain walk_chunks(const struct memory *memory, uint64_t start, uint64_t stop,
                         uint64_t *address, uint64_t *word, size_t capacity);

/* Visits a list from its item `first` until a link is 0. The link of an item is `offset` bytes
 * after its address. If `masked`, the link is stored XOR (its own address >> 12). */
struct chain follow_list(const struct memory *memory, uint64_t first, unsigned offset, bool masked,
                         uint64_t *item, size_t capacity);

/* Visits the chunks of a ring forwards from its head. The head is also a chunk. */
struct chain follow_ring(const struct memory *memory, uint64_t head, uint64_t *item,
                         size_t capacity);

/* Finds the starts of chains in [base, end). A start is a multiple of `step` from which a chain of
 * chunks reaches `end` exactly. Its size word must state that the previous chunk is in use. Stores
 * the starts in `found`, the lowest first. Returns their number, or -1 if memory is exhausted.
 * `bytes` is the content of memory from `base` on. */
ptrdiff_t chain_starts(const uint8_t *bytes, uint64_t base, uint64_t end, uint64_t step,
                       uint64_t *found, size_t capacity);

#endif
