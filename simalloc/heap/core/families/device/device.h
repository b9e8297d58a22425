/* The common part of the device allocators: a device with a fixed capacity, free blocks by pool and
 * stream, and statistics with the names of torch.cuda.memory_stats.
 *
 * A device grants multiples of 2 MiB, each at the next higher address. The heap's blocks are the
 * reserved memory; addresses that are not mapped are holes. A block that is in no list and not
 * allocated is waste. */
#ifndef SIMALLOC_DEVICE_H
#define SIMALLOC_DEVICE_H

#include "families/family.h"
#include "index/treap/treap.h"
#include "replay/requests.h"

#define GRANULE (UINT64_C(2) << 20)
#define NO_LIMIT ((uint64_t)INT64_MAX)
#define DEVICE_BYTES (UINT64_C(1) << 50) /* bytes of addresses of a device without a capacity */

struct device_gauge {
    uint64_t now, peak;
};

/* Gauges of all pools, of the large pools, and of the pools for small requests. */
struct device_gauges {
    struct device_gauge all, of[2];
};

/* Statistics in bytes, except counts, in the order of the names in device.c. */
struct device_statistics {
    struct device_gauges requested, allocated, active, reserved, inactive_split;
    struct device_gauges segment; /* number of segments, without pages of expandable segments */
    /* numbers of allocations and segments */
    struct device_gauge oversize_allocations, oversize_segments;
    uint64_t segments;                  /* number of segments ever taken */
    uint64_t device_alloc, device_free; /* numbers of calls */
    uint64_t retries; /* number of times that all free memory was returned after a refusal */
    uint64_t largest; /* bytes of the largest block that was ever in use */
    /* bytes of the largest free block now; only updated by families that report it */
    uint64_t largest_free;
    /* Bytes after the event at which `reserved` first reached its peak: */
    uint64_t requested_at_peak, active_at_peak, inactive_split_at_peak;
};

/* The free blocks of one stream, by size and address, and the stream's holes, by address. */
struct device_stream {
    struct device_stream *next; /* stream of the pool with the next higher number */
    struct device_pool *pool;
    uint32_t number;
    uint32_t free, holes; /* roots of the trees of free blocks and of holes */
};

struct device_pool {
    struct device_pool *next; /* next pool of the device */
    struct device_stream *streams;
    bool is_small;     /* true if the pool is for small requests */
    uint64_t searches; /* number of searches, counted only while garbage is collected */
};

/* Data of a block in addition to the data in the block table. */
struct device_block {
    union {
        uint64_t requested; /* requested bytes, while in use */
        uint64_t entered;   /* `searches` of its pool when it entered the pool, while free */
    };
    uint64_t origin; /* start of its range of addresses, in an expandable segment */
    struct device_stream *stream;
    bool is_shared; /* true if another stream uses the block */
};

struct device {
    struct heap heap;
    uint64_t taken; /* mapped bytes in whole granules; heap.mapped <= taken <= heap.limit */
    struct device_block *data; /* by block id */
    uint32_t data_capacity;
    struct treap_nodes nodes;
    struct device_pool *pools;
    uint64_t reserved_at_peak;
    struct device_statistics statistics;
};

/* The entries of struct family that all device allocators share. */
#define DEVICE_FAMILY                                                                    \
    .blocks_an_event = 16, .next_layer = next_layer, .check = device_check,              \
    .refuses = true, .counts_frees = true, .after_change = device_note_peak,             \
    .figure_names = device_figure_names, .figure_count = DEVICE_FIGURES

/* Defines the layer of a family and its next_layer(). */
#define DEVICE_LAYER(allocate_, release_) \
    REFUSING_LAYER(allocate_, release_, device_resize, device_reserve, )
#define DEVICE_PARAMETER(state, field) PARAMETER(struct state, field, 0, INT64_MAX)

enum { DEVICE_FIGURES = sizeof(struct device_statistics) / sizeof(uint64_t) };
extern const char *const device_figure_names[DEVICE_FIGURES];
void device_report(const struct heap *heap, uint64_t *figures);
void device_copy_statistics(const struct device_statistics *statistics, uint64_t *figures);

/* Makes an empty device. Returns false if memory is exhausted. */
bool device_init(void *state);
/* Makes an empty device with one pool that has stream 0. Returns false if memory is exhausted. */
bool device_init_single(void *state);
void device_release(void *state);
const char *device_check(const void *state);
bool device_reserve(struct heap *heap);
/* Reserves entries for `blocks` blocks in addition to the family's blocks_an_event. Returns false,
 * with the heap's failure set, if memory is exhausted. */
bool device_reserve_more(struct device *device, uint64_t blocks);
bool device_resize(struct heap *heap, uint32_t block, uint64_t size);
void device_note_peak(struct heap *heap);

/* Returns a new pool without streams (device_add_pool), or the stream with a number in a pool, made
 * if necessary (device_stream). Both return NULL, with the heap's failure set, if memory is
 * exhausted. */
struct device_pool *device_add_pool(struct device *device, bool is_small);
struct device_stream *device_stream(struct device *device, struct device_pool *pool,
                                    uint32_t number);

/* Returns a new segment, which is one block in no list, or NO_BLOCK if the device refuses. */
uint32_t device_take_segment(struct device *device, struct device_stream *stream, uint64_t size);
/* Returns a segment to the device. The segment must be one block, in no list. */
void device_give_segment_back(struct device *device, uint32_t id);

/* Reserves a new range of addresses. Returns it as a hole in no list, or NO_BLOCK, with the heap's
 * failure set, if addresses are exhausted. */
uint32_t device_take_range(struct device *device, struct device_stream *stream, uint64_t size);
/* Returns whether the device can grant `size` bytes. */
bool device_can_grant(const struct device *device, uint64_t size);
/* Maps a hole that is in no list. The device must be able to grant its size. */
void device_map(struct device *device, uint32_t id);
/* Turns a block that is in no list into a hole. */
void device_unmap(struct device *device, uint32_t id);

/* Inserts a block or hole in its stream's list (device_put), or removes it (device_take). */
void device_put(struct device *device, uint32_t id);
void device_take(struct device *device, uint32_t id);

/* Merges a block or hole, which is in no list, with its listed neighbours of the same kind and
 * stream. Returns the bytes of these neighbours. */
uint64_t device_merge(struct device *device, uint32_t id);

/* Frees a block immediately: merges it with its neighbours and inserts it in its list. */
void device_free(struct heap *heap, uint32_t id);

/* Shortens a block that is in no list. Returns the remainder, a block of the same kind in no
 * list. */
uint32_t device_cut(struct device *device, uint32_t id, uint64_t size);
/* Shortens a block for an allocation, and inserts the remainder in its list. */
void device_split(struct device *device, uint32_t id, uint64_t size);

/* Marks a block that is in no list as in use (device_hand_out), or a block in use as free and still
 * in no list (device_take_back). */
void device_hand_out(struct device *device, uint32_t id, uint64_t requested);
void device_take_back(struct device *device, uint32_t id);

/* Returns the stream's smallest free block of at least `size` bytes, the lowest of equals, or
 * NO_BLOCK. */
uint32_t device_best_fit(const struct device *device, const struct device_stream *stream,
                         uint64_t size);
/* Returns the stream's lowest hole, or NO_BLOCK. */
uint32_t device_first_hole(const struct device *device, const struct device_stream *stream);
/* Returns the next block in the order of a listed block's list, or NO_BLOCK. */
uint32_t device_behind(const struct device *device, uint32_t id);
/* Returns the stream's largest free block below `size` bytes, the highest of equals, or
 * NO_BLOCK. */
uint32_t device_largest_below(const struct device *device, const struct device_stream *stream,
                              uint64_t size);

/* Returns the next free block of a pool after `id`, stream by stream, or the first after NO_BLOCK.
 * Returns NO_BLOCK after the last. */
uint32_t device_walk(const struct device *device, const struct device_pool *pool, uint32_t id);

ALWAYS_INLINE bool device_is_hole(const struct device *device, uint32_t id)
{
    return device->heap.blocks[id].index_slot == STATE_HOLE;
}

/* Returns the neighbour of a block in its segment, or NO_BLOCK at the end of the segment. */
ALWAYS_INLINE uint32_t device_above(const struct device *device, uint32_t id)
{
    uint32_t next = device->heap.blocks[id].next;
    return device->heap.blocks[next].size == 0 ? NO_BLOCK : next;
}

ALWAYS_INLINE uint32_t device_below(const struct device *device, uint32_t id)
{
    uint32_t previous = device->heap.blocks[id].previous;
    return device->heap.blocks[previous].size == 0 ? NO_BLOCK : previous;
}

/* Adds an amount to a gauge. A negative amount is given modulo 2**64. */
ALWAYS_INLINE void device_gauge_add(struct device_gauge *gauge, uint64_t amount)
{
    gauge->now += amount;
    if (gauge->now > gauge->peak)
        gauge->peak = gauge->now;
}

ALWAYS_INLINE void device_gauges_add(struct device_gauges *gauges,
                                     const struct device_stream *stream, uint64_t amount)
{
    device_gauge_add(&gauges->all, amount);
    device_gauge_add(&gauges->of[stream->pool->is_small], amount);
}

#endif
