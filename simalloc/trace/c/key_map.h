/* Map from the distinct keys of live objects to their slots.
 *
 * The map is a hash table with linear probing and backward-shift deletion. Therefore its size
 * depends only on the live objects. */
#ifndef SIMALLOC_KEY_MAP_H
#define SIMALLOC_KEY_MAP_H

#include "live_slots.h"

struct key_entry {
    int64_t key;
    uint32_t slot; /* slot, or NO_SLOT in an empty entry */
};

struct key_map {
    struct key_entry *entries; /* 1 << bits places; at most half of them are occupied */
    unsigned bits;
    size_t count; /* number of occupied places */
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

/* Returns the place of `key`, or the empty place where `key` belongs. */
static inline struct key_entry *key_map_place(const struct key_map *map, int64_t key)
{
    size_t place = key_map_home(map, key);
    while (map->entries[place].slot != NO_SLOT && map->entries[place].key != key)
        place = (place + 1) & key_map_mask(map);
    return &map->entries[place];
}

/* Reserves space for one more entry. Places found before are no longer valid. Returns false when
 * memory is exhausted. */
bool key_map_reserve(struct key_map *map);

/* Stores an entry at the empty place where its key belongs. */
static inline void key_map_put(struct key_map *map, struct key_entry *place, struct key_entry entry)
{
    *place = entry;
    map->count++;
}

/* Empties an occupied place. Places found before are no longer valid. */
void key_map_remove(struct key_map *map, struct key_entry *taken);

#endif
