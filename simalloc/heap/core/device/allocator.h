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

static inline void gauge_add(struct gauge *gauge, uint64_t amount)
{
    gauge->now += amount;
    if (gauge->now > gauge->peak)
        gauge->peak = gauge->now;
}

/* What torch.cuda.memory_stats calls by these names, in bytes; and counts. */
struct statistics {
    struct gauge requested, allocated, active, reserved, inactive_split;
    uint64_t segments; /* that were ever taken */
    uint64_t retries;
    uint64_t ooms;
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
    block->in_use = true;
    block->requested = requested;
    gauge_add(&allocator->statistics.allocated, block->size);
    gauge_add(&allocator->statistics.active, block->size);
    gauge_add(&allocator->statistics.requested, requested);
}

static inline void count_taken_back(struct allocator *allocator, uint32_t id)
{
    struct block *block = &allocator->blocks.table[id];
    allocator->statistics.allocated.now -= block->size;
    allocator->statistics.active.now -= block->size;
    allocator->statistics.requested.now -= block->requested;
    block->in_use = false;
    block->requested = 0;
}

static inline void count_segment(struct allocator *allocator, uint64_t size)
{
    gauge_add(&allocator->statistics.reserved, size);
    allocator->statistics.segments++;
}

#endif
