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

static size_t first_of(const struct stays *stays, size_t pair)
{
    return (size_t)stays->ranges[2 * pair];
}

static size_t end_of(const struct stays *stays, size_t pair)
{
    return (size_t)stays->ranges[2 * pair + 1];
}

bool window_is_sound(const struct stays *stays)
{
    for (size_t pair = 0; pair < stays->pairs; pair++)
        if (first_of(stays, pair) > end_of(stays, pair) || end_of(stays, pair) > stays->count)
            return false;
    return true;
}

bool window_fill(struct heap_map *map, const struct stays *stays)
{
    struct sums *cells = cells_new(map);
    if (cells == NULL)
        return false;
    for (size_t pair = 0; pair < stays->pairs; pair++)
        for (size_t place = first_of(stays, pair); place < end_of(stays, pair); place++) {
            struct stay stay = stay_of(stays, place);
            cells_cover(map, cells, &stay);
        }
    cells_add_up(map, cells);
    free(cells);
    return true;
}
