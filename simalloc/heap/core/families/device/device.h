/* The common part of the device allocators: a device with a fixed capacity, free blocks by pool and
 * stream, and statistics by the names of torch.cuda.memory_stats.
 *
 * A device grants multiples of 2 MiB, each at the next higher address. Its blocks are the heap's
 * blocks, which are the reserved memory; addresses that are not mapped are holes. A block that is
 * in no list and not allocated is waste. */
#ifndef SIMALLOC_DEVICE_H
#define SIMALLOC_DEVICE_H

#include "families/family.h"
#include "index/treap/treap.h"
#include "replay/requests.h"

#define GRANULE (UINT64_C(2) << 20)
#define NO_LIMIT ((uint64_t)INT64_MAX)
#define DEVICE_BYTES (UINT64_C(1) << 50) /* address space of a device without a capacity */

struct device_gauge {
    uint64_t now, peak;
};

/* Of all pools, of the large pools, and of the pools of small requests. */
struct device_gauges {
    struct device_gauge all, of[2];
};

/* Bytes, except counts; reported in this order, by the names in device.c. */
struct device_statistics {
    struct device_gauges requested, allocated, active, reserved, inactive_split;
    struct device_gauges segment; /* a count, without pages */
    struct device_gauge oversize_allocations, oversize_segments; /* counts */
    uint64_t segments; /* number of segments ever taken */
    uint64_t device_alloc, device_free; /* calls */
    uint64_t retries;      /* number of times that all free memory was returned to make room */
    uint64_t largest;      /* block that was ever in use */
    uint64_t largest_free; /* now; kept up to date by those that tell it */
    /* After the event at which reserved first had its peak: */
    uint64_t requested_at_peak, active_at_peak, inactive_split_at_peak;
};

/* The free blocks of one stream, by size and address, and its holes, by address. */
struct device_stream {
    struct device_stream *next; /* the pool's stream with the next higher number */
    struct device_pool *pool;
    uint32_t number;
    uint32_t free, holes; /* the roots of their trees */
};

struct device_pool {
    struct device_pool *next; /* next pool of the device */
    struct device_stream *streams;
    bool is_small;     /* is it for small requests? */
    uint64_t searches; /* counted while garbage is collected */
};

/* The data of a block beyond the common data. */
struct device_block {
    union {
        uint64_t requested; /* while it is in use */
        uint64_t entered;   /* the searches of its pool when it entered it, while it is free */
    };
    uint64_t origin; /* start of the range whose pages are mapped */
    struct device_stream *stream;
    bool is_shared; /* does another stream use it? */
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

/* The entries of struct family for all of them. */
#define DEVICE_FAMILY                                                                    \
    .blocks_an_event = 16, .next_layer = next_layer, .check = device_check,              \
    .refuses = true, .counts_frees = true, .after_change = device_note_peak,             \
    .figure_names = device_figure_names, .figure_count = DEVICE_FIGURES

/* The layer of a family, and its next_layer(). */
#define DEVICE_LAYER(allocate_, release_) \
    REFUSING_LAYER(allocate_, release_, device_resize, device_reserve, )
#define DEVICE_PARAMETER(state, field) PARAMETER(struct state, field, 0, INT64_MAX)

enum { DEVICE_FIGURES = sizeof(struct device_statistics) / sizeof(uint64_t) };
extern const char *const device_figure_names[DEVICE_FIGURES];
void device_report(const struct heap *heap, uint64_t *figures);
void device_copy_statistics(const struct device_statistics *statistics, uint64_t *figures);

/* Makes an empty device; false when memory is exhausted. */
bool device_init(void *state);
/* The same with one pool, and a stream of number 0 in it. */
bool device_init_single(void *state);
void device_release(void *state);
const char *device_check(const void *state);
bool device_reserve(struct heap *heap);
/* Makes sure of `blocks` more than the family says that an event makes; false, with the heap's
 * failure set, when memory is exhausted. */
bool device_reserve_more(struct device *device, uint64_t blocks);
bool device_resize(struct heap *heap, uint32_t block, uint64_t size);
void device_note_peak(struct heap *heap);

/* device_add_pool() returns a new pool without streams, device_stream() the stream with a number in
 * a pool, made if necessary. Both return NULL, with the heap's failure set, if memory is exhausted.
 */
struct device_pool *device_add_pool(struct device *device, bool is_small);
struct device_stream *device_stream(struct device *device, struct device_pool *pool,
                                    uint32_t number);

/* A new segment, a block in no list; NO_BLOCK if the device refuses. */
uint32_t device_take_segment(struct device *device, struct device_stream *stream, uint64_t size);
/* Gives a segment back that is one block, in no list. */
void device_give_segment_back(struct device *device, uint32_t id);

/* Returns a new range of addresses, a hole in no list. Returns NO_BLOCK, with the heap's failure
 * set, if addresses are exhausted. */
uint32_t device_take_range(struct device *device, struct device_stream *stream, uint64_t size);
/* Returns whether the device has room for `size` bytes. */
bool device_can_grant(const struct device *device, uint64_t size);
/* Maps a hole that is in no list, for which there is room. */
void device_map(struct device *device, uint32_t id);
/* Makes a hole of a block that is in no list. */
void device_unmap(struct device *device, uint32_t id);

/* Puts a block, or a hole, into the list of its stream, and takes it out. */
void device_put(struct device *device, uint32_t id);
void device_take(struct device *device, uint32_t id);

/* Merges a block, or a hole, with the neighbours of its kind and stream, which are in their lists;
 * returns their bytes. It is in none. */
uint64_t device_merge(struct device *device, uint32_t id);

/* Frees a block at once: merged with its neighbours, it is in its list. */
void device_free(struct heap *heap, uint32_t id);

/* Shortens a block in no list, and returns the rest, a block of the same kind. */
uint32_t device_cut(struct device *device, uint32_t id, uint64_t size);
/* The same for an allocation: the rest goes into its list. */
void device_split(struct device *device, uint32_t id, uint64_t size);

/* A block in no list comes into use; one in use is freed, waits for nothing and is in no list. */
void device_hand_out(struct device *device, uint32_t id, uint64_t requested);
void device_take_back(struct device *device, uint32_t id);

/* The stream's smallest free block of at least a size, the lowest of several; or NO_BLOCK. */
uint32_t device_best_fit(const struct device *device, const struct device_stream *stream,
                         uint64_t size);
/* The stream's lowest hole, or NO_BLOCK. */
uint32_t device_first_hole(const struct device *device, const struct device_stream *stream);
/* Returns the next block in the order of a listed block's list, or NO_BLOCK. */
uint32_t device_behind(const struct device *device, uint32_t id);
/* The stream's largest free block, the highest of several, below a size; or NO_BLOCK. */
uint32_t device_largest_below(const struct device *device, const struct device_stream *stream,
                              uint64_t size);

/* The free blocks of a pool, stream by stream: what comes behind one, or the first of all behind
 * NO_BLOCK; NO_BLOCK at the end. */
uint32_t device_walk(const struct device *device, const struct device_pool *pool, uint32_t id);

ALWAYS_INLINE bool device_is_hole(const struct device *device, uint32_t id)
{
    return device->heap.blocks[id].index_slot == STATE_HOLE;
}

/* The neighbours in the segment; NO_BLOCK at its ends. */
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

/* `amount` may stand for a number below 0: it wraps around. */
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
