/* Best fit over the free blocks of all regions of a device: BFC, and ONNX Runtime's arena
 * (policy/device/arenas.md). */
#ifndef SIMALLOC_DEVICE_REGIONS_H
#define SIMALLOC_DEVICE_REGIONS_H

#include "families/device/device.h"

enum { REGION_UNIT = 256 };

struct regions {
    struct device device; /* one pool of one stream */
    uint64_t limit;
    uint64_t always_split; /* bytes of a remainder that is always split off */
    uint64_t step;         /* bytes of the next region */
};

/* Allocates the low end of the best fit, or returns NO_BLOCK. */
uint32_t regions_allocate(struct regions *regions, uint64_t rounded, uint64_t requested);

/* Returns the bytes that can still be reserved, in whole units. */
uint64_t regions_room(const struct regions *regions);
/* Doubles the step until it has room for a size; returns whether that was needed. */
bool regions_reach(struct regions *regions, uint64_t size);
/* Takes a region, a smaller one each time the device refuses, down to `size` and `least` bytes. */
bool regions_take(struct regions *regions, uint64_t wanted, uint64_t size, uint64_t least);
void regions_give_back(struct regions *regions, uint32_t id);

/* Returns the next free block after `id`, or after NO_BLOCK the first, that is a whole region. */
uint32_t regions_next_whole(const struct regions *regions, uint32_t id);

void regions_report(const struct heap *heap, uint64_t *figures);

#endif
