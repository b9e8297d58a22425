/* Best fit over the free blocks of all regions of a device, for BFC and for ONNX Runtime's arena
 * (policy/device/arenas.md). */
#ifndef SIMALLOC_DEVICE_REGIONS_H
#define SIMALLOC_DEVICE_REGIONS_H

#include "families/device/device.h"

enum { REGION_UNIT = 256 };

struct regions {
    struct device device; /* has one pool with one stream */
    uint64_t limit;
    uint64_t always_split; /* bytes of a remainder that is always split off */
    uint64_t step;         /* bytes of the next region */
};

/* Allocates the low end of the best fit. Returns NO_BLOCK if no block fits. */
uint32_t regions_allocate(struct regions *regions, uint64_t rounded, uint64_t requested);

/* Returns the bytes that can still be reserved, in whole units. */
uint64_t regions_room(const struct regions *regions);
/* Doubles the step until it is at least `size`. Returns whether it was doubled. */
bool regions_reach(struct regions *regions, uint64_t size);
/* Takes a region from the device. After each refusal, requests a smaller region of at least `size`
 * and `least` bytes. Returns false if the device refuses all of them. */
bool regions_take(struct regions *regions, uint64_t wanted, uint64_t size, uint64_t least);
void regions_give_back(struct regions *regions, uint32_t id);

/* Returns the next free block after `id` that is a whole region, or the first after NO_BLOCK.
 * Returns NO_BLOCK after the last. */
uint32_t regions_next_whole(const struct regions *regions, uint32_t id);

void regions_report(const struct heap *heap, uint64_t *figures);

#endif
