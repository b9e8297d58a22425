#include "recent.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ENTRIES = 1 << 14 };

static uint32_t *empty_ring(size_t entries)
{
    uint32_t *ring = malloc(entries * sizeof *ring);
    if (ring != NULL)
        memset(ring, 0xFF, entries * sizeof *ring); /* NO_SLOT */
    return ring;
}

bool recent_init(struct recent *recent)
{
    recent->mask = FIRST_ENTRIES - 1;
    recent->ring = empty_ring(FIRST_ENTRIES);
    return recent->ring != NULL && key_map_init(&recent->old);
}

void recent_release(struct recent *recent)
{
    free(recent->ring);
    key_map_release(&recent->old);
}

bool recent_retire(struct recent *recent, int64_t next)
{
    uint32_t *place = &recent->ring[(uint64_t)next & recent->mask];
    int64_t old = next - (int64_t)recent->mask - 1;
    if (!key_map_reserve(&recent->old))
        return false;
    key_map_put(&recent->old, key_map_place(&recent->old, old),
                (struct key_entry){old, old, *place});
    *place = NO_SLOT;
    return true;
}

bool recent_balance(struct recent *recent, int64_t objects, size_t live)
{
    size_t entries = (size_t)recent->mask + 1;
    if (live <= entries / 2 && recent->old.count <= entries / 4)
        return true;
    uint32_t *ring = empty_ring(2 * entries);
    if (ring == NULL)
        return false;
    uint64_t mask = 2 * entries - 1;
    for (int64_t i = objects - (int64_t)(2 * entries); i < objects; i++) {
        if (i < 0)
            continue;
        if (objects - i <= (int64_t)entries) {
            ring[(uint64_t)i & mask] = recent->ring[(uint64_t)i & recent->mask];
            continue;
        }
        struct key_entry *place = key_map_place(&recent->old, i);
        if (place->slot != NO_SLOT) {
            ring[(uint64_t)i & mask] = place->slot;
            key_map_remove(&recent->old, place);
        }
    }
    free(recent->ring);
    recent->ring = ring;
    recent->mask = mask;
    return true;
}
