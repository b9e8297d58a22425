#include "space/page_table.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

bool page_table_init(struct page_table *table)
{
    table->groups = calloc(FIRST_CAPACITY, sizeof *table->groups);
    table->capacity = table->groups == NULL ? 0 : FIRST_CAPACITY;
    return table->groups != NULL;
}

void page_table_release(struct page_table *table)
{
    free(table->groups);
    *table = (struct page_table){0};
}

/* Returns the index of the entry with a key or, without such an entry, the index for a new one. */
static uint64_t place_of(const struct page_table *table, uint64_t key)
{
    uint64_t mask = table->capacity - 1;
    uint64_t place = (key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;
    while (table->groups[place].key != 0 && table->groups[place].key != key)
        place = (place + 1) & mask;
    return place;
}

static bool is_known(const struct page_group *group)
{
    return group->of_pages != NULL || group->huge != 0;
}

const struct page_group *page_table_find(const struct page_table *table, uint64_t number)
{
    const struct page_group *group = &table->groups[place_of(table, number + 1)];
    return group->key == 0 ? NULL : group;
}

/* Enlarges the table, and drops groups without information. */
static bool grow(struct page_table *table)
{
    struct page_table old = *table;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < old.capacity; i++)
        kept += is_known(&old.groups[i]);
    uint64_t capacity = FIRST_CAPACITY;
    while (capacity < 4 * (kept + 1))
        capacity *= 2;
    struct page_group *groups = calloc(capacity, sizeof *groups);
    if (groups == NULL)
        return false;
    *table = (struct page_table){.groups = groups, .capacity = capacity, .used = kept};
    for (uint64_t i = 0; i < old.capacity; i++)
        if (is_known(&old.groups[i]))
            groups[place_of(table, old.groups[i].key)] = old.groups[i];
    free(old.groups);
    return true;
}

struct page_group *page_table_look_up(struct page_table *table, uint64_t number)
{
    uint64_t key = number + 1;
    if (2 * (table->used + 1) > table->capacity && !grow(table))
        return NULL;
    uint64_t place = place_of(table, key);
    if (table->groups[place].key == 0) {
        table->groups[place].key = key;
        table->used++;
    }
    table->latest = place;
    return &table->groups[place];
}
