/* The chains and lists of glibc's malloc in a copy of memory.
 *
 * Every function visits at most `capacity` items, so that an endless list is not a hang. */
#ifndef SIMALLOC_CHAINS_H
#define SIMALLOC_CHAINS_H

#include "memory.h"

enum chain_end {
    CHAIN_DONE,    /* the chain ended at the required address */
    CHAIN_FULL,    /* more items than `capacity` */
    CHAIN_FENCE,   /* a size of 16 or 0: the chunk that ends a piece of an arena */
    CHAIN_SIZE,    /* a size that is impossible or extends beyond the end */
    CHAIN_OUTSIDE, /* an address that is not in memory, or not aligned */
    CHAIN_BROKEN   /* a link that does not lead back */
};

struct chain {
    size_t count;        /* items visited */
    uint64_t next;       /* address of the first item not visited */
    enum chain_end end;
};

/* Visits the chunks from `start` up to `stop`, and puts their addresses and size words, with the
 * three flags, into the arrays. */
struct chain walk_chunks(const struct memory *memory, uint64_t start, uint64_t stop,
                         uint64_t *address, uint64_t *word, size_t capacity);

/* Visits a list from its item `first` to the link 0. An item's link is `offset` bytes behind it; if
 * `masked`, it is stored XOR (its own address >> 12). */
struct chain follow_list(const struct memory *memory, uint64_t first, unsigned offset, bool masked,
                         uint64_t *item, size_t capacity);

/* Visits the chunks of a ring, forward from its head, a chunk too. */
struct chain follow_ring(const struct memory *memory, uint64_t head, uint64_t *item,
                         size_t capacity);

/* Finds the addresses in [base, end), multiples of `step`, from which a chain of chunks reaches
 * `end` exactly and whose size word states that the previous chunk is in use. Stores them in
 * `found`, the lowest first. Returns their number, or -1 if memory is exhausted. `bytes` is the
 * content of memory from `base` on. */
ptrdiff_t chain_starts(const uint8_t *bytes, uint64_t base, uint64_t end, uint64_t step,
                       uint64_t *found, size_t capacity);

#endif
