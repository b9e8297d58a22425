/* Declarations shared by the parts of PyTorch's caching allocator. */
#ifndef SIMALLOC_PYTORCH_H
#define SIMALLOC_PYTORCH_H

#include "families/device/device.h"
#include "parts/thread_table.h"

enum { INTERVALS = 16 };

struct pytorch {
    struct device device; /* `family_data` of a waiting block is the next one */
    struct device_pool *large, *small; /* the pools that are not private */
    struct thread_table private_pools; /* large pools by number; the small pool is the `next` of the
                                        * large */
    uint32_t first_waiting, last_waiting; /* freed blocks that other streams use; or NO_BLOCK */
    /* Parameters; NO_LIMIT without a limit. */
    uint64_t divisions[INTERVALS];
    uint64_t max_split;
    uint64_t non_split_rounding;
    uint64_t large_segment;
    uint64_t allowed;
    uint64_t collected_above;
    uint64_t expandable;
    uint64_t range; /* addresses, before rounding up to whole pages */
};

/* Returns a free block of at least `size`, made by mapping pages and in no list, or NO_BLOCK if the
 * device refuses. */
uint32_t pytorch_grow(struct pytorch *state, struct device_stream *stream, uint64_t size);
/* Unmaps the pages that lie wholly inside a free block. */
void pytorch_unmap(struct pytorch *state, uint32_t id);
/* Returns the size that a free block can grow to without moving. */
uint64_t pytorch_reach(const struct pytorch *state, uint32_t id);

/* Returns whole blocks, or pages, to the device, except those in private pools. */
void pytorch_release_all(struct pytorch *state);
/* Returns blocks that are never split to the device until a request has room. Returns false if it
 * has none. */
bool pytorch_release_oversize(struct pytorch *state, struct device_stream *stream, uint64_t size);
/* Returns whole large blocks older than the average to the device, while too much is reserved. */
void pytorch_collect_garbage(struct pytorch *state);

#endif
