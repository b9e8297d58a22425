#include "cells.h"

#include <stdlib.h>

/* Position of an event: a column, and the number of events of that column before it. */
struct moment {
    size_t column;
    int64_t offset;
};

static struct moment moment_of(const struct heap_map *map, int64_t event)
{
    int64_t end = map->last_event - map->first_event;
    int64_t since = event - map->first_event;
    since = since < 0 ? 0 : since > end ? end : since;
    return (struct moment){(size_t)(since / map->cell_events), since % map->cell_events};
}

/* Sums of a cell. The integers are exact. With addresses up to 2**62 and the number of an event as
 * a weight, sums exceed 64 bits and the exact range of a double. A sum over rectangles that have
 * all ended must be 0. */
struct sums {
    __int128 live; /* byte-events covered */
    __int128 born; /* byte-events weighted by the event of the block's birth */
};

struct sums *cells_new(const struct heap_map *map)
{
    return calloc(map->columns * map->rows, sizeof(struct sums));
}

/* Adds `bytes` to all cells of a row from a moment on. The cells store differences between columns.
 * The column of the moment receives the share of its events after the moment. */
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

void cells_cover(const struct heap_map *map, struct sums *cells, const struct stay *stay)
{
    uint64_t lowest = map->lowest_address;
    uint64_t highest = lowest + map->rows * map->cell_bytes;
    uint64_t low = stay->address;
    uint64_t high = low + stay->size;
    low = low < lowest ? lowest : low;
    high = high > highest ? highest : high;
    struct moment from = moment_of(map, stay->since);
    struct moment to = moment_of(map, stay->until);
    if (low >= high || (from.column == to.column && from.offset == to.offset))
        return;
    size_t row = (size_t)((low - lowest) / map->cell_bytes);
    for (uint64_t edge = lowest + (row + 1) * map->cell_bytes; low < high;
         row++, edge += map->cell_bytes) {
        uint64_t end = high < edge ? high : edge;
        __int128 bytes = (__int128)(end - low);
        step(map, cells, from, row, bytes, stay->birth);
        step(map, cells, to, row, -bytes, stay->birth);
        low = end;
    }
}

void cells_add_up(const struct heap_map *map, struct sums *cells)
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
