/* Map from the keys of live objects, which are distinct, to their slots.
 *
 * A hash table with linear probing and backward-shift deletion, so that its size depends only on
 * the objects that are in it. */
#ifndef SIMALLOC_KEY_MAP_H
#define SIMALLOC_KEY_MAP_H

#include "live_slots.h"

struct key_entry {
    int64_t key;
    uint32_t slot; /* slot, or NO_SLOT in an empty entry */
};

struct key_map {
    struct key_entry *entries; /* 1 << bits places, at most half of them taken */
    unsigned bits;
    size_t count; /* places that are taken */
};

bool key_map_init(struct key_map *map);
void key_map_release(struct key_map *map);

static inline size_t key_map_mask(const struct key_map *map)
{
    return ((size_t)1 << map->bits) - 1;
}

static inline size_t key_map_home(const struct key_map *map, int64_t key)
{
    return (size_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - map->bits));
}

/* The place of `key`, or the empty place where it would stand. */
static inline struct key_entry *key_map_place(const struct key_map *map, int64_t key)
{
    size_t place = key_map_home(map, key);
    while (map->entries[place].slot != NO_SLOT && map->entries[place].key != key)
        place = (place + 1) & key_map_mask(map);
    return &map->entries[place];
}

/* Makes sure that there is room for one more; places found before are no longer valid. */
bool key_map_reserve(struct key_map *map);

/* Puts an entry at the empty place where its key would stand. */
static inline void key_map_put(struct key_map *map, struct key_entry *place, struct key_entry entry)
{
    *place = entry;
    map->count++;
}

/* Empties a place that is taken; places found before are no longer valid. */
void key_map_remove(struct key_map *map, struct key_entry *taken);

#endif
