#include "heap_map.h"

#include <stdlib.h>

enum { OP_FREE = 1 };

/* A block that is live while the events go by. */
struct standing {
    int64_t address; /* NOT_LIVE if the slot is empty */
    uint64_t size;
    int64_t birth; /* the event that put the object at this address */
    int64_t since; /* the event that gave the block this size */
};

enum { NOT_LIVE = -1 };

/* Where a time falls: a column, and the events of that column before it. */
struct moment {
    size_t column;
    int64_t offset;
};

static struct moment moment_of(const struct heap_map *map, int64_t event)
{
    int64_t end = (int64_t)map->columns * map->cell_events;
    int64_t since = event - map->first_event;
    since = since < 0 ? 0 : since > end ? end : since;
    return (struct moment){(size_t)(since / map->cell_events), since % map->cell_events};
}

/* Raises all cells of a row from a moment on by `bytes`, as differences between columns: those of
 * the moment's own column by its part after the moment. */
static void step(const struct heap_map *map, struct moment moment, size_t row, double bytes,
                 double birth)
{
    double before = bytes * (double)moment.offset;
    double after = bytes * (double)(map->cell_events - moment.offset);
    size_t cell = moment.column * map->rows + row;
    map->live[cell] += after;
    map->born[cell] += after * birth;
    if (moment.column == map->columns)
        return;
    map->live[cell + map->rows] += before;
    map->born[cell + map->rows] += before * birth;
}

/* Covers the rectangle of a block from when it got its size until now. */
static void cover(const struct heap_map *map, const struct standing *block, int64_t now)
{
    uint64_t lowest = map->lowest_address;
    uint64_t highest = lowest + map->rows * map->cell_bytes;
    uint64_t low = (uint64_t)block->address;
    uint64_t high = low + block->size;
    low = low < lowest ? lowest : low;
    high = high > highest ? highest : high;
    struct moment from = moment_of(map, block->since);
    struct moment to = moment_of(map, now);
    if (low >= high || (from.column == to.column && from.offset == to.offset))
        return;
    size_t row = (size_t)((low - lowest) / map->cell_bytes);
    for (uint64_t edge = lowest + (row + 1) * map->cell_bytes; low < high;
         row++, edge += map->cell_bytes) {
        uint64_t end = high < edge ? high : edge;
        double bytes = (double)(end - low);
        step(map, from, row, bytes, (double)block->birth);
        step(map, to, row, -bytes, (double)block->birth);
        low = end;
    }
}

static void add_up(const struct heap_map *map)
{
    for (size_t cell = map->rows; cell < (map->columns + 1) * map->rows; cell++) {
        map->live[cell] += map->live[cell - map->rows];
        map->born[cell] += map->born[cell - map->rows];
    }
}

static bool add_event(const struct heap_map *map, const struct placements *placements,
                      struct standing *slots, size_t event)
{
    uint32_t number = placements->slot[event];
    int64_t address = placements->address[event];
    int64_t now = (int64_t)event;
    if (number >= placements->slots)
        return false;
    struct standing *block = &slots[number];
    int64_t birth = block->address == address ? block->birth : now;
    if (block->address != NOT_LIVE)
        cover(map, block, now);
    if (placements->op[event] == OP_FREE) {
        block->address = NOT_LIVE;
        return true;
    }
    uint64_t request = (uint64_t)placements->size[event];
    *block = (struct standing){
        .address = address,
        .size = (request == 0 ? 1 : request) * placements->scale,
        .birth = birth,
        .since = now,
    };
    return true;
}

bool heap_map_add(struct heap_map *map, const struct placements *placements)
{
    struct standing *slots = malloc((size_t)(placements->slots + 1) * sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint64_t slot = 0; slot < placements->slots; slot++)
        slots[slot].address = NOT_LIVE;
    bool sound = true;
    for (size_t event = 0; sound && event < placements->count; event++)
        sound = add_event(map, placements, slots, event);
    for (uint64_t slot = 0; sound && slot < placements->slots; slot++)
        if (slots[slot].address != NOT_LIVE)
            cover(map, &slots[slot], (int64_t)placements->count);
    free(slots);
    add_up(map);
    return sound;
}
