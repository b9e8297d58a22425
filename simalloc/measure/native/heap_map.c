#include "heap_map.h"

#include <stdlib.h>

enum { OP_FREE = 1, OP_REALLOC = 2 };

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

/* What a cell adds up. With addresses up to 2**62 and an event's number as a weight, sums pass what
 * a double or 64 bits tell exactly; and a sum over rectangles that have all ended must be 0. */
struct sums {
    __int128 live; /* byte-events covered */
    __int128 born; /* the same, each weighted by the event of its block's birth */
};

/* Raises all cells of a row from a moment on by `bytes`, as differences between columns: those of
 * the moment's own column by its part after the moment. */
static void step(const struct heap_map *map, struct sums *cells, struct moment moment, size_t row,
                 __int128 bytes, int64_t birth)
{
    if (moment.column == map->columns)
        return;
    __int128 before = bytes * moment.offset;
    __int128 after = bytes * (map->cell_events - moment.offset);
    struct sums *cell = &cells[moment.column * map->rows + row];
    cell->live += after;
    cell->born += after * birth;
    if (moment.column + 1 == map->columns)
        return;
    cell[map->rows].live += before;
    cell[map->rows].born += before * birth;
}

/* Covers the rectangle of a block from when it got its size until now. */
static void cover(const struct heap_map *map, struct sums *cells, const struct standing *block,
                  int64_t now)
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
        __int128 bytes = (__int128)(end - low);
        step(map, cells, from, row, bytes, block->birth);
        step(map, cells, to, row, -bytes, block->birth);
        low = end;
    }
}

/* Adds the differences up, and hands the map its sums. */
static void add_up(const struct heap_map *map, struct sums *cells)
{
    for (size_t cell = 0; cell < map->columns * map->rows; cell++) {
        if (cell >= map->rows) {
            cells[cell].live += cells[cell - map->rows].live;
            cells[cell].born += cells[cell - map->rows].born;
        }
        map->live[cell] = (double)cells[cell].live;
        map->born[cell] = (double)cells[cell].born;
    }
}

static bool add_event(const struct heap_map *map, struct sums *cells,
                      const struct placements *placements, struct standing *slots, size_t event)
{
    uint32_t number = placements->slot[event];
    int64_t address = placements->address[event];
    int64_t now = (int64_t)event;
    if (placements->op[event] > OP_REALLOC)
        return true; /* of a device's allocator alone */
    if (number >= placements->slots)
        return false;
    struct standing *block = &slots[number];
    int64_t birth = block->address == address ? block->birth : now;
    if (block->address != NOT_LIVE)
        cover(map, cells, block, now);
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

static bool add_events(const struct heap_map *map, struct sums *cells,
                       const struct placements *placements, struct standing *slots)
{
    for (uint64_t slot = 0; slot < placements->slots; slot++)
        slots[slot].address = NOT_LIVE;
    for (size_t event = 0; event < placements->count; event++)
        if (!add_event(map, cells, placements, slots, event))
            return false;
    for (uint64_t slot = 0; slot < placements->slots; slot++)
        if (slots[slot].address != NOT_LIVE)
            cover(map, cells, &slots[slot], (int64_t)placements->count);
    return true;
}

bool heap_map_fill(struct heap_map *map, const struct placements *placements)
{
    struct standing *slots = malloc((size_t)(placements->slots + 1) * sizeof *slots);
    struct sums *cells = calloc(map->columns * map->rows, sizeof *cells);
    bool filled = slots != NULL && cells != NULL && add_events(map, cells, placements, slots);
    if (filled)
        add_up(map, cells);
    free(cells);
    free(slots);
    return filled;
}
