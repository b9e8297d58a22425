/* A copy of another process's memory: regions in order of address, and the words in them. */
#ifndef SIMALLOC_MEMORY_H
#define SIMALLOC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct region {
    uint64_t start;
    uint64_t end;
    const uint8_t *bytes;
};

/* Invariant: regions[i].end <= regions[i + 1].start. */
struct memory {
    struct region *regions;
    size_t count;
};

/* Returns the region that contains `address`, or NULL. */
static inline const struct region *memory_region(const struct memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->regions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < memory->count && memory->regions[low].start <= address;
    return inside ? &memory->regions[low] : NULL;
}

static inline uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Stores the 8 bytes at `address` in `*word`. Returns false if no region contains all 8 bytes. */
static inline bool memory_word(const struct memory *memory, uint64_t address, uint64_t *word)
{
    const struct region *region = memory_region(memory, address);
    if (region == NULL || region->end - address < sizeof *word)
        return false;
    *word = word_at(region->bytes + (address - region->start));
    return true;
}

#endif
