/* Declarations shared by the parts of PyTorch's caching allocator. */
#ifndef SIMALLOC_PYTORCH_H
#define SIMALLOC_PYTORCH_H

#include "families/device/device.h"
#include "parts/thread_table.h"

enum { INTERVALS = 16 };

struct pytorch {
    struct device device; /* `family_data` of a waiting block is the next waiting block */
    struct device_pool *large, *small; /* pools that are not private */
    /* large pools by number; `next` of a large pool is its small pool */
    struct thread_table private_pools;
    /* freed blocks that other streams still use, or NO_BLOCK */
    uint32_t first_waiting, last_waiting;
    /* Parameters. NO_LIMIT stands for no limit. */
    uint64_t divisions[INTERVALS];
    uint64_t max_split;
    uint64_t non_split_rounding;
    uint64_t large_segment;
    uint64_t allowed;
    uint64_t collected_above;
    uint64_t expandable;
    uint64_t range; /* bytes of addresses in a range, before rounding up to whole pages */
};

/* Maps pages until a free block has at least `size` bytes. Returns that block, which is in no list,
 * or NO_BLOCK if the device refuses. */
uint32_t pytorch_grow(struct pytorch *state, struct device_stream *stream, uint64_t size);
/* Unmaps the pages that are entirely inside a free block. */
void pytorch_unmap(struct pytorch *state, uint32_t id);
/* Returns the size that a free block can grow to without moving. */
uint64_t pytorch_reach(const struct pytorch *state, uint32_t id);

/* Returns whole segments, or unmaps pages, of all pools except private ones. */
void pytorch_release_all(struct pytorch *state);
/* Returns segments that are never split to the device, until enough bytes for a request are
 * returned. Returns false if they do not suffice. */
bool pytorch_release_oversize(struct pytorch *state, struct device_stream *stream, uint64_t size);
/* Returns whole large segments of at least the average age to the device, while more memory is
 * reserved than `collected_above`. */
void pytorch_collect_garbage(struct pytorch *state);

#endif
