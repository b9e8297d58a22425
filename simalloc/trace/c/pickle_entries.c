#include "pickle_entries.h"

#include <stdlib.h>
#include <string.h>

/* Actions in the order of ACTIONS in formats/pytorch_pickle.py. */
static const char *const actions[] = {
    "alloc", "free", "free_completed", "free_requested", "oom",
    "segment_alloc", "segment_free", "segment_map", "segment_unmap",
};
static const char *const no_events[] = {"snapshot", "annotate", "user_defined",
                                        "workspace_snapshot"};
enum { ACTION_COUNT = 9, OOM = 4, NO_EVENT = ACTION_COUNT, WRONG };

/* Exceeds every address, and the number of microseconds in a century. */
#define MOST (INT64_C(1) << 52)

static bool is_text(const struct value *value, const uint8_t *bytes, const char *text)
{
    return value->kind == TEXT && value->length == strlen(text) &&
           memcmp(&bytes[value->place], text, value->length) == 0;
}

/* Returns the value of a dict's key, the last of several equal keys, or NULL. */
static const struct value *find(const struct items *dict, const uint8_t *bytes, const char *key)
{
    for (size_t i = dict->count; i >= 2; i -= 2)
        if (is_text(&dict->at[i - 2], bytes, key))
            return &dict->at[i - 1];
    return NULL;
}

bool is_entry(const struct items *dict, const uint8_t *bytes)
{
    return find(dict, bytes, "action") != NULL;
}

static int64_t action_of(const struct value *value, const uint8_t *bytes)
{
    for (int64_t i = 0; i < ACTION_COUNT; i++)
        if (is_text(value, bytes, actions[i]))
            return i;
    for (size_t i = 0; i < sizeof no_events / sizeof *no_events; i++)
        if (is_text(value, bytes, no_events[i]))
            return NO_EVENT;
    return WRONG;
}

static uint64_t hash_of(const struct items *items)
{
    uint64_t hash = items->count;
    for (size_t i = 0; i < items->count; i++)
        hash = (hash ^ (uint64_t)items->at[i].number) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
    return hash ^ hash >> 32;
}

static bool are_alike(const struct items *one, const struct items *other)
{
    if (one->count != other->count)
        return false;
    for (size_t i = 0; i < one->count; i++)
        if (one->at[i].kind != other->at[i].kind || one->at[i].number != other->at[i].number)
            return false;
    return true;
}

/* Returns the place of a sequence in the table, or the empty place where the sequence belongs. */
static uint32_t *place_of(const struct entries *entries, const struct items *items)
{
    size_t at = hash_of(items) % entries->table_size;
    while (entries->table[at] != 0 &&
           !are_alike(entries->sequences[entries->table[at] - 1], items))
        at = (at + 1) % entries->table_size;
    return &entries->table[at];
}

static bool table_grow(struct entries *entries, struct store *store)
{
    if (2 * entries->sequence_count < entries->table_size)
        return true;
    size_t size = 4 * entries->sequence_count + 64;
    if (!store_take(store, size * sizeof *entries->table))
        return false;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL) {
        store->trouble = "memory is exhausted";
        return false;
    }
    free(entries->table);
    store->left += entries->table_size * sizeof *table;
    entries->table = table;
    entries->table_size = size;
    for (size_t i = 0; i < entries->sequence_count; i++)
        *place_of(entries, entries->sequences[i]) = (uint32_t)(i + 1);
    return true;
}

/* Returns the number of a list or tuple among all distinct ones, 0 for another value, or a negative
 * number on failure. Frees the values of a sequence that is equal to a known one. */
static int64_t number_of(struct entries *entries, struct store *store, const struct value *value)
{
    if (value == NULL || (value->kind != LIST && value->kind != TUPLE) || value->items->count == 0)
        return 0;
    struct items *items = value->items;
    if (!table_grow(entries, store))
        return -1;
    uint32_t *place = place_of(entries, items);
    if (*place != 0) {
        struct items *known = entries->sequences[*place - 1];
        if (known != items && !items->fixed) {
            items_clear(store, items);
            items->at = known->at;
            items->count = known->count;
            items->fixed = items->borrowed = true;
        }
        return *place;
    }
    void *array = entries->sequences;
    if (!store_grow(store, &array, entries->sequence_count, &entries->sequence_capacity,
                    sizeof *entries->sequences))
        return -1;
    entries->sequences = array;
    items->fixed = true;
    entries->sequences[entries->sequence_count++] = items;
    *place = (uint32_t)entries->sequence_count;
    return *place;
}

/* Stores a number of an entry in its row, or 0 if the number is missing and optional. Returns false
 * if the value is not a number. */
static bool read_number(const struct items *dict, const uint8_t *bytes, const char *key,
                        bool may_be_missing, int64_t *into)
{
    const struct value *value = find(dict, bytes, key);
    *into = 0;
    if (value == NULL)
        return may_be_missing;
    *into = value->number;
    return value->kind == NUMBER && value->number >= 0 && value->number < MOST;
}

bool entries_add(struct entries *entries, struct store *store, struct items *dict,
                 const uint8_t *bytes)
{
    void *array = entries->rows;
    if (!store_grow(store, &array, entries->count, &entries->capacity, sizeof *entries->rows))
        return false;
    entries->rows = array;
    struct row row = {{action_of(find(dict, bytes, "action"), bytes)}};
    if (row.fields[ACTION] < ACTION_COUNT) {
        bool is_oom = row.fields[ACTION] == OOM;
        const struct value *pool = find(dict, bytes, "pool_id");
        bool right = read_number(dict, bytes, is_oom ? "device_free" : "addr", is_oom,
                                 &row.fields[ADDRESS]);
        right &= read_number(dict, bytes, "size", false, &row.fields[SIZE]);
        right &= read_number(dict, bytes, "stream", true, &row.fields[STREAM]);
        right &= read_number(dict, bytes, "time_us", true, &row.fields[TIME]);
        if (pool == NULL)
            pool = find(dict, bytes, "segment_pool_id");
        row.fields[POOL] = number_of(entries, store, pool);
        const struct value *frames = find(dict, bytes, "frames");
        if (frames != NULL && frames->kind == LIST)
            row.fields[PLACES] = number_of(entries, store, frames);
        if (store->trouble != NULL)
            return false;
        if (!right)
            row = (struct row){{WRONG}};
    }
    entries->rows[entries->count++] = row;
    items_clear(store, dict);
    return true;
}

void entries_release(struct entries *entries)
{
    free(entries->rows);
    free(entries->sequences);
    free(entries->table);
}
