/* PyTorch's caching allocator: what its three parts share. */
#ifndef SIMALLOC_PYTORCH_H
#define SIMALLOC_PYTORCH_H

#include "families/device/device.h"
#include "parts/thread_table.h"

enum { INTERVALS = 16 };

struct pytorch {
    struct device device; /* a block's `family_data` is the next that waits, while it waits */
    struct device_pool *large, *small; /* those that are not private */
    struct thread_table private_pools; /* the large ones by number; the small one is its `next` */
    uint32_t first_waiting, last_waiting; /* freed blocks that other streams use; or NO_BLOCK */
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

/* A free block of at least `size`, made by mapping pages, which is in no list; NO_BLOCK if the
 * device refuses. */
uint32_t pytorch_grow(struct pytorch *state, struct device_stream *stream, uint64_t size);
/* Unmaps the pages that lie wholly inside a free block. */
void pytorch_unmap(struct pytorch *state, uint32_t id);
/* What a free block can grow to without moving. */
uint64_t pytorch_reach(const struct pytorch *state, uint32_t id);

/* Gives back whole blocks, or pages, but those of private pools. */
void pytorch_release_all(struct pytorch *state);
/* Gives back blocks that are never split until a request has room; false if it has not. */
bool pytorch_release_oversize(struct pytorch *state, struct device_stream *stream, uint64_t size);
/* Gives back the whole large blocks that are older than the average while too much is reserved. */
void pytorch_collect_garbage(struct pytorch *state);

#endif
