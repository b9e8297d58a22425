#include "recent.h"

#include <stdlib.h>
#include <string.h>

static void empty(uint32_t *ring, size_t entries)
{
    memset(ring, 0xFF, entries * sizeof *ring); /* every entry becomes NO_SLOT */
}

bool recent_init(struct recent *recent, uint32_t *first, size_t entries)
{
    recent->ring = recent->first = first;
    recent->mask = entries - 1;
    empty(first, entries);
    return key_map_init(&recent->old);
}

static void free_ring(struct recent *recent)
{
    if (recent->ring != recent->first)
        free(recent->ring);
}

void recent_release(struct recent *recent)
{
    free_ring(recent);
    key_map_release(&recent->old);
}

bool recent_retire(struct recent *recent, int64_t next)
{
    uint32_t *place = &recent->ring[(uint64_t)next & recent->mask];
    int64_t old = next - (int64_t)recent->mask - 1;
    if (!key_map_reserve(&recent->old))
        return false;
    key_map_put(&recent->old, key_map_place(&recent->old, old), (struct key_entry){old, *place});
    *place = NO_SLOT;
    return true;
}

/* Moves the objects from number `first` on from the map to `ring`, which is large enough. */
static bool recall(struct recent *recent, uint32_t *ring, uint64_t mask, int64_t first)
{
    struct key_map old;
    if (!key_map_init(&old))
        return false;
    const struct key_entry *entries = recent->old.entries;
    for (size_t i = 0; i <= key_map_mask(&recent->old); i++) {
        if (entries[i].slot == NO_SLOT)
            continue;
        if (entries[i].key >= first) {
            ring[(uint64_t)entries[i].key & mask] = entries[i].slot;
            continue;
        }
        if (!key_map_reserve(&old)) {
            key_map_release(&old);
            return false;
        }
        key_map_put(&old, key_map_place(&old, entries[i].key), entries[i]);
    }
    key_map_release(&recent->old);
    recent->old = old;
    return true;
}

bool recent_balance(struct recent *recent, int64_t objects, size_t live)
{
    size_t entries = (size_t)recent->mask + 1;
    if (live <= entries / 2 && recent->old.count <= entries / 4)
        return true;
    uint32_t *ring = malloc(2 * entries * sizeof *ring);
    if (ring == NULL)
        return false;
    empty(ring, 2 * entries);
    uint64_t mask = 2 * entries - 1;
    if (!recall(recent, ring, mask, objects - (int64_t)(2 * entries))) {
        free(ring);
        return false;
    }
    int64_t youngest = objects - (int64_t)entries;
    for (int64_t i = youngest < 0 ? 0 : youngest; i < objects; i++)
        ring[(uint64_t)i & mask] = recent->ring[(uint64_t)i & recent->mask];
    free_ring(recent);
    recent->ring = ring;
    recent->mask = mask;
    return true;
}
