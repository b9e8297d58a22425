#include "window.h"

#include <stdlib.h>

static struct stay stay_of(const struct stays *stays, size_t place)
{
    uint64_t request = (uint64_t)stays->size[place];
    return (struct stay){
        .address = (uint64_t)stays->address[place],
        .size = (request == 0 ? 1 : request) * stays->scale,
        .birth = stays->birth[place],
        .since = stays->since[place],
        .until = stays->until[place],
    };
}

static bool add_ranges(const struct heap_map *map, struct sums *cells, const struct stays *stays)
{
    for (size_t pair = 0; pair < stays->pairs; pair++) {
        size_t first = (size_t)stays->ranges[2 * pair];
        size_t end = (size_t)stays->ranges[2 * pair + 1];
        if (first > end || end > stays->count)
            return false;
        for (size_t place = first; place < end; place++) {
            struct stay stay = stay_of(stays, place);
            cells_cover(map, cells, &stay);
        }
    }
    return true;
}

bool window_fill(struct heap_map *map, const struct stays *stays)
{
    struct sums *cells = cells_new(map);
    bool filled = cells != NULL && add_ranges(map, cells, stays);
    if (filled)
        cells_add_up(map, cells);
    free(cells);
    return filled;
}
