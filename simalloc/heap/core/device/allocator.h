/* The contract between a device allocator and the replay: a struct of functions.
 *
 * An allocator's state begins with its struct allocator. Blocks are called by their numbers. */
#ifndef SIMALLOC_DEVICE_ALLOCATOR_H
#define SIMALLOC_DEVICE_ALLOCATOR_H

#include "memory.h"
#include "tree.h"

struct gauge {
    uint64_t now, peak;
};

/* A figure of all pools, of the large ones, and of those of small requests. */
struct gauges {
    struct gauge all, of[2];
};

/* `amount` may stand for a number below 0: it wraps around. */
static inline void gauge_add(struct gauge *gauge, uint64_t amount)
{
    gauge->now += amount;
    if (gauge->now > gauge->peak)
        gauge->peak = gauge->now;
}

static inline void gauges_add(struct gauges *gauges, uint32_t pool, uint64_t amount)
{
    gauge_add(&gauges->all, amount);
    gauge_add(&gauges->of[pool % 2], amount);
}

/* What torch.cuda.memory_stats calls by these names, in bytes; and counts. */
struct statistics {
    struct gauges requested, allocated, active, reserved, inactive_split;
    struct gauges segment; /* a count, without pages */
    struct gauge oversize_allocations, oversize_segments; /* counts */
    uint64_t segments; /* that were ever taken */
    uint64_t retries;
    uint64_t ooms;
    uint64_t largest; /* block that was ever in use */
    uint64_t free_blocks; /* now */
    /* After the event at which reserved first had its peak: */
    struct {
        uint64_t reserved, requested, active, inactive_split;
    } at_peak;
};

struct allocator {
    struct memory memory;
    struct blocks blocks;
    struct statistics statistics;
    const char *failure; /* why it cannot go on, or NULL */
};

/* A parameter by its name, a number of 64 bits or several, at its place in the state. */
struct device_parameter {
    const char *name;
    size_t offset;
    size_t count;
};

struct device_family {
    const char *name;
    size_t state_size;
    const struct device_parameter *parameters; /* ends with one without a name */
    /* Makes an empty allocator of memory that is zero but for parameters; false: no memory. */
    bool (*init)(struct allocator *allocator);
    void (*release)(struct allocator *allocator);
    /* A block for a request of at least a byte; NO_BLOCK if memory is out. */
    uint32_t (*allocate)(struct allocator *allocator, uint64_t size, uint32_t stream,
                         uint32_t pool);
    void (*free)(struct allocator *allocator, uint32_t block);
    void (*empty)(struct allocator *allocator); /* NULL: gives nothing back */
    uint64_t (*largest_free)(const struct allocator *allocator); /* NULL: it does not tell */
    bool knows_streams; /* does a block that another stream uses wait when it is freed? */
};

extern const struct device_family pytorch_family, bfc_family, ort_family, rmm_family,
    no_cache_family;

/* How many blocks an event may make: a rest, new memory, and what sticks out of pages. */
enum { BLOCKS_AN_EVENT = 16 };

/* A block that comes into use, and one that was freed and waits for nothing. */
static inline void count_handed_out(struct allocator *allocator, uint32_t id, uint64_t requested)
{
    struct block *block = &allocator->blocks.table[id];
    struct statistics *statistics = &allocator->statistics;
    block->in_use = true;
    block->requested = requested;
    gauges_add(&statistics->allocated, block->pool, block->size);
    gauges_add(&statistics->active, block->pool, block->size);
    gauges_add(&statistics->requested, block->pool, requested);
    if (block->size > statistics->largest)
        statistics->largest = block->size;
}

static inline void count_taken_back(struct allocator *allocator, uint32_t id)
{
    struct block *block = &allocator->blocks.table[id];
    gauges_add(&allocator->statistics.allocated, block->pool, -block->size);
    gauges_add(&allocator->statistics.active, block->pool, -block->size);
    gauges_add(&allocator->statistics.requested, block->pool, -block->requested);
    block->in_use = false;
    block->requested = 0;
}

static inline void count_segment(struct allocator *allocator, uint32_t pool, uint64_t size)
{
    gauges_add(&allocator->statistics.reserved, pool, size);
    gauges_add(&allocator->statistics.segment, pool, 1);
    allocator->statistics.segments++;
}

static inline void count_segment_back(struct allocator *allocator, uint32_t pool, uint64_t size)
{
    gauges_add(&allocator->statistics.reserved, pool, -size);
    gauges_add(&allocator->statistics.segment, pool, UINT64_C(-1));
}

#endif
