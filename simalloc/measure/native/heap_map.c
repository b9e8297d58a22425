#include "heap_map.h"

#include <stdlib.h>

enum { OP_FREE = 1, OP_REALLOC = 2 };

/* A block that is live while the events go by. */
struct standing {
    int64_t address; /* NOT_LIVE if the slot is empty */
    uint64_t size;
    int64_t birth; /* as of a stay */
    int64_t since;
};

enum { NOT_LIVE = -1 };

static void cover(const struct heap_map *map, struct sums *cells, const struct standing *block,
                  int64_t now)
{
    struct stay stay = {(uint64_t)block->address, block->size, block->birth, block->since, now};
    cells_cover(map, cells, &stay);
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
    struct sums *cells = cells_new(map);
    bool filled = slots != NULL && cells != NULL && add_events(map, cells, placements, slots);
    if (filled)
        cells_add_up(map, cells);
    free(cells);
    free(slots);
    return filled;
}
