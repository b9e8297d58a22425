#include "live_table.h"

#include <stdlib.h>
#include <string.h>

#define NO_SLOT UINT32_MAX

static size_t home_of(const struct live_table *table, int64_t key)
{
    return (size_t)(((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - table->bits));
}

static size_t mask_of(const struct live_table *table)
{
    return ((size_t)1 << table->bits) - 1;
}

/* The place of `key`, or the empty place where it would stand. */
static size_t place_of(const struct live_table *table, int64_t key)
{
    size_t place = home_of(table, key);
    while (table->entries[place].slot != NO_SLOT && table->entries[place].key != key)
        place = (place + 1) & mask_of(table);
    return place;
}

static struct live_entry *empty_entries(unsigned bits)
{
    struct live_entry *entries = calloc((size_t)1 << bits, sizeof *entries);
    if (entries != NULL)
        for (size_t i = 0; i < (size_t)1 << bits; i++)
            entries[i].slot = NO_SLOT;
    return entries;
}

bool live_table_init(struct live_table *table)
{
    memset(table, 0, sizeof *table);
    table->bits = 6;
    table->entries = empty_entries(table->bits);
    return table->entries != NULL;
}

void live_table_release(struct live_table *table)
{
    free(table->entries);
    free(table->free_slots);
    free(table->sizes);
    memset(table, 0, sizeof *table);
}

static bool grow(struct live_table *table)
{
    struct live_entry *old = table->entries;
    size_t old_places = (size_t)1 << table->bits;
    struct live_entry *entries = empty_entries(table->bits + 1);
    if (entries == NULL)
        return false;
    table->entries = entries;
    table->bits++;
    for (size_t i = 0; i < old_places; i++)
        if (old[i].slot != NO_SLOT)
            entries[place_of(table, old[i].key)] = old[i];
    free(old);
    return true;
}

/* Empties a place and moves back what probing would otherwise no longer find. */
static void empty_place(struct live_table *table, size_t hole)
{
    size_t mask = mask_of(table);
    for (size_t place = (hole + 1) & mask; table->entries[place].slot != NO_SLOT;
         place = (place + 1) & mask) {
        size_t home = home_of(table, table->entries[place].key);
        if (((place - home) & mask) >= ((place - hole) & mask)) {
            table->entries[hole] = table->entries[place];
            hole = place;
        }
    }
    table->entries[hole].slot = NO_SLOT;
}

bool live_table_find(const struct live_table *table, int64_t key, uint32_t *slot)
{
    *slot = table->entries[place_of(table, key)].slot;
    return *slot != NO_SLOT;
}

static bool grow_sizes(struct live_table *table)
{
    size_t capacity = table->slot_capacity ? 2 * table->slot_capacity : 64;
    int64_t *sizes = realloc(table->sizes, capacity * sizeof *sizes);
    if (sizes == NULL)
        return false;
    table->sizes = sizes;
    uint32_t *free_slots = realloc(table->free_slots, capacity * sizeof *free_slots);
    if (free_slots == NULL)
        return false;
    table->free_slots = free_slots;
    table->slot_capacity = capacity;
    return true;
}

static bool fits_total(const struct live_table *table, int64_t size)
{
    return table->allocated_bytes <= INT64_MAX - size;
}

static void count_bytes(struct live_table *table, int64_t allocated, int64_t freed)
{
    table->allocated_bytes += allocated;
    table->live_bytes += allocated - freed;
    if (table->live_bytes > table->max_live_bytes)
        table->max_live_bytes = table->live_bytes;
}

static enum reason add(struct live_table *table, int64_t key, int64_t size, int64_t *object,
                       uint32_t *slot)
{
    if ((table->live + 1) * 2 > (size_t)1 << table->bits && !grow(table))
        return REASON_MEMORY;
    struct live_entry *entry = &table->entries[place_of(table, key)];
    if (entry->slot != NO_SLOT)
        return REASON_MALLOC_OF_LIVE;
    if (!fits_total(table, size))
        return REASON_TOTAL;
    if (table->free_count == 0) {
        if (table->slots == NO_SLOT - 1)
            return REASON_TOO_MANY;
        if (table->slots == table->slot_capacity && !grow_sizes(table))
            return REASON_MEMORY;
    }
    *slot = table->free_count > 0 ? table->free_slots[--table->free_count] : table->slots++;
    *object = table->objects++;
    *entry = (struct live_entry){key, *object, *slot};
    table->live++;
    table->sizes[*slot] = size;
    count_bytes(table, size, 0);
    return REASON_NONE;
}

static enum reason take_away(struct live_table *table, int64_t key, int64_t *object, uint32_t *slot)
{
    size_t place = place_of(table, key);
    if (table->entries[place].slot == NO_SLOT)
        return REASON_FREE_OF_DEAD;
    *object = table->entries[place].object;
    *slot = table->entries[place].slot;
    table->free_slots[table->free_count++] = *slot;
    table->live--;
    empty_place(table, place);
    count_bytes(table, 0, table->sizes[*slot]);
    return REASON_NONE;
}

static enum reason resize(struct live_table *table, int64_t key, int64_t new_key, int64_t size,
                          int64_t *object, uint32_t *slot)
{
    size_t place = place_of(table, key);
    struct live_entry entry = table->entries[place];
    if (entry.slot == NO_SLOT)
        return REASON_REALLOC_OF_DEAD;
    if (!fits_total(table, size))
        return REASON_TOTAL;
    if (new_key != key) {
        if (table->entries[place_of(table, new_key)].slot != NO_SLOT)
            return REASON_MOVE_TO_LIVE;
        empty_place(table, place);
        entry.key = new_key;
        table->entries[place_of(table, new_key)] = entry;
    }
    *object = entry.object;
    *slot = entry.slot;
    table->reallocs++;
    count_bytes(table, size, table->sizes[*slot]);
    table->sizes[*slot] = size;
    return REASON_NONE;
}

enum reason live_table_enter_one(struct live_table *table, const struct events *events, size_t i,
                                 int64_t *object, uint32_t *slot)
{
    int64_t key = events->key[i], size = events->size[i];
    if (size < 0 || size > MAX_SIZE)
        return REASON_SIZE;
    if (events->op[i] == OP_MALLOC)
        return add(table, key, size, object, slot);
    if (events->op[i] == OP_FREE)
        return take_away(table, key, object, slot);
    if (events->op[i] == OP_REALLOC)
        return resize(table, key, events->new_key ? events->new_key[i] : key, size, object, slot);
    return REASON_OP;
}

size_t live_table_enter(struct live_table *table, const struct events *events, int64_t *object,
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
