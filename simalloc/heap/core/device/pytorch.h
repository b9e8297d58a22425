/* PyTorch's caching allocator: what its three parts share. */
#ifndef SIMALLOC_DEVICE_PYTORCH_H
#define SIMALLOC_DEVICE_PYTORCH_H

#include "allocator.h"

enum { INTERVALS = 16 };
#define SMALL (UINT64_C(1) << 20)
#define NO_LIMIT ((uint64_t)INT64_MAX)

/* Free blocks, and those that are addresses alone. */
struct pool {
    struct tree free;
    struct tree unmapped;
    uint64_t searches; /* counted while garbage is collected */
};

struct pytorch {
    struct allocator allocator;
    struct pool *pools; /* 2 * the private pool's number (0: none), + 1 for small requests */
    uint32_t pool_count;
    uint32_t *waiting; /* freed blocks that other streams use */
    size_t waiting_count, waiting_capacity;
    /* Parameters; NO_LIMIT where there is none. */
    uint64_t divisions[INTERVALS];
    uint64_t max_split;
    uint64_t non_split_rounding;
    uint64_t large_segment;
    uint64_t allowed;
    uint64_t collected_above;
    uint64_t expandable;
    uint64_t range; /* of addresses, before it is rounded up to whole pages */
};

static inline bool pool_is_small(uint32_t pool)
{
    return pool % 2 != 0;
}

/* Pools keep the blocks that say they are theirs; these count them as free. */
void pytorch_put(struct pytorch *pytorch, uint32_t id);
void pytorch_take(struct pytorch *pytorch, uint32_t id);

/* Merges a block that is in no pool with the neighbours that are free and mapped alike; returns
 * their bytes. */
uint64_t pytorch_merge(struct pytorch *pytorch, uint32_t id);

/* A free block of at least `size`, made by mapping pages, which is in no pool; NO_BLOCK if the
 * device refuses. */
uint32_t pytorch_grow(struct pytorch *pytorch, uint32_t pool, uint32_t stream, uint64_t size);
/* Unmaps the pages that lie wholly inside a free block. */
void pytorch_unmap(struct pytorch *pytorch, uint32_t id);
/* What a free block can grow to without moving. */
uint64_t pytorch_reach(const struct pytorch *pytorch, uint32_t id);

/* Gives back whole blocks and then pages, but those of private pools. */
void pytorch_release_all(struct pytorch *pytorch);
/* Gives back blocks that are never split until a request has room; false if it has not. */
bool pytorch_release_oversize(struct pytorch *pytorch, uint32_t pool, uint32_t stream,
                              uint64_t size);
/* Gives back the whole large blocks that are older than the average while too much is reserved. */
void pytorch_collect_garbage(struct pytorch *pytorch);

#endif
