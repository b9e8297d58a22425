#include "key_map.h"

#include <stdlib.h>

static struct key_entry *empty_entries(unsigned bits)
{
    struct key_entry *entries = calloc((size_t)1 << bits, sizeof *entries);
    if (entries != NULL)
        for (size_t i = 0; i < (size_t)1 << bits; i++)
            entries[i].slot = NO_SLOT;
    return entries;
}

bool key_map_init(struct key_map *map)
{
    *map = (struct key_map){.bits = 6};
    map->entries = empty_entries(map->bits);
    return map->entries != NULL;
}

void key_map_release(struct key_map *map)
{
    free(map->entries);
    map->entries = NULL;
}

static bool grow(struct key_map *map)
{
    struct key_entry *old = map->entries;
    size_t old_places = (size_t)1 << map->bits;
    struct key_entry *entries = empty_entries(map->bits + 1);
    if (entries == NULL)
        return false;
    map->entries = entries;
    map->bits++;
    for (size_t i = 0; i < old_places; i++)
        if (old[i].slot != NO_SLOT)
            *key_map_place(map, old[i].key) = old[i];
    free(old);
    return true;
}

bool key_map_reserve(struct key_map *map)
{
    return (map->count + 1) * 2 <= (size_t)1 << map->bits || grow(map);
}

void key_map_remove(struct key_map *map, struct key_entry *taken)
{
    size_t mask = key_map_mask(map);
    size_t hole = (size_t)(taken - map->entries);
    /* Entries that probing could no longer find move back. */
    for (size_t place = (hole + 1) & mask; map->entries[place].slot != NO_SLOT;
         place = (place + 1) & mask) {
        size_t home = key_map_home(map, map->entries[place].key);
        if (((place - home) & mask) >= ((place - hole) & mask)) {
            map->entries[hole] = map->entries[place];
            hole = place;
        }
    }
    map->entries[hole].slot = NO_SLOT;
    map->count--;
}
