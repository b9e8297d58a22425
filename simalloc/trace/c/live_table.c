#include "live_table.h"

#include <stdlib.h>
#include <string.h>

bool live_table_init(struct live_table *table)
{
    memset(table, 0, sizeof *table);
    return key_map_init(&table->map);
}

void live_table_release(struct live_table *table)
{
    key_map_release(&table->map);
    live_slots_release(&table->live);
    free(table->objects);
    table->objects = NULL;
}

bool live_table_find(const struct live_table *table, int64_t key, uint32_t *slot)
{
    *slot = key_map_place(&table->map, key)->slot;
    return *slot != NO_SLOT;
}

/* Reserves space for one more object. */
static bool reserve(struct live_table *table)
{
    struct live_slots *live = &table->live;
    if (!key_map_reserve(&table->map) || !live_slots_reserve(live, 1))
        return false;
    if (table->capacity == live->capacity)
        return true;
    int64_t *objects = realloc(table->objects, live->capacity * sizeof *objects);
    if (objects == NULL)
        return false;
    table->objects = objects;
    table->capacity = live->capacity;
    return true;
}

static enum reason add(struct live_table *table, int64_t key, int64_t size, int64_t *object,
                       uint32_t *slot)
{
    if (!reserve(table))
        return REASON_MEMORY;
    struct key_entry *place = key_map_place(&table->map, key);
    if (place->slot != NO_SLOT)
        return REASON_MALLOC_OF_LIVE;
    *object = table->live.objects;
    enum reason why = live_slots_take(&table->live, size, slot);
    if (why != REASON_NONE)
        return why;
    key_map_put(&table->map, place, (struct key_entry){key, *slot});
    table->objects[*slot] = *object;
    return REASON_NONE;
}

static enum reason take_away(struct live_table *table, int64_t key, int64_t *object, uint32_t *slot)
{
    struct key_entry *place = key_map_place(&table->map, key);
    if (place->slot == NO_SLOT)
        return REASON_FREE_OF_DEAD;
    *slot = place->slot;
    *object = table->objects[*slot];
    key_map_remove(&table->map, place);
    live_slots_give_back(&table->live, *slot);
    return REASON_NONE;
}

static enum reason use(const struct live_table *table, int64_t key, int64_t *object, uint32_t *slot)
{
    if (!live_table_find(table, key, slot))
        return REASON_USE_OF_DEAD;
    *object = table->objects[*slot];
    return REASON_NONE;
}

static enum reason resize(struct live_table *table, int64_t key, int64_t new_key, int64_t size,
                          int64_t *object, uint32_t *slot)
{
    struct key_entry *place = key_map_place(&table->map, key);
    struct key_entry entry = *place;
    if (entry.slot == NO_SLOT)
        return REASON_REALLOC_OF_DEAD;
    if (new_key != key && key_map_place(&table->map, new_key)->slot != NO_SLOT)
        return REASON_MOVE_TO_LIVE;
    enum reason why = live_slots_resize(&table->live, entry.slot, size);
    if (why != REASON_NONE)
        return why;
    if (new_key != key) {
        key_map_remove(&table->map, place);
        entry.key = new_key;
        key_map_put(&table->map, key_map_place(&table->map, new_key), entry);
    }
    *slot = entry.slot;
    *object = table->objects[*slot];
    return REASON_NONE;
}

enum reason live_table_enter_one(struct live_table *table, const struct read_events *events,
                                 size_t i, int64_t *object, uint32_t *slot)
{
    int64_t key = events->key[i], size = events->size[i];
    if (size < 0 || size > MAX_SIZE)
        return REASON_SIZE;
    switch (events->op[i]) {
    case OP_MALLOC:
    case OP_CALLOC:
        return add(table, key, size, object, slot);
    case OP_FREE:
        return take_away(table, key, object, slot);
    case OP_REALLOC:
        return resize(table, key, events->new_key ? events->new_key[i] : key, size, object, slot);
    case OP_USE:
        return use(table, key, object, slot);
    case OP_EMPTY:
    case OP_THREAD_END:
        *object = NO_OBJECT;
        *slot = 0;
        return REASON_NONE;
    default:
        return REASON_OP;
    }
}

size_t live_table_enter(struct live_table *table, const struct read_events *events, int64_t *object,
                        uint32_t *slot, enum reason *why)
{
    for (size_t i = 0; i < events->count; i++) {
        *why = live_table_enter_one(table, events, i, &object[i], &slot[i]);
        if (*why != REASON_NONE)
            return i;
    }
    *why = REASON_NONE;
    return events->count;
}
