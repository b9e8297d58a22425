#include "space/table.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Returns the location of the offset of the entries, which is stored directly before the
 * entries. */
static size_t *offset_of(void *entries)
{
    return (size_t *)entries - 1;
}

static void *memory_of(void *entries)
{
    return entries == NULL ? NULL : (char *)entries - *offset_of(entries);
}

static bool resize(void *table, size_t width, uint32_t used, uint32_t *capacity, uint32_t wanted)
{
    void *entries; /* copied as bytes, because `table` points to a pointer of any entry type */
    memcpy(&entries, table, sizeof entries);
    size_t before = entries == NULL ? 0 : *offset_of(entries);
    char *memory = realloc(memory_of(entries), wanted * width + CACHE_LINE);
    if (memory == NULL)
        return false;
    size_t offset = CACHE_LINE - (uintptr_t)memory % CACHE_LINE;
    char *moved = memory + offset;
    if (entries != NULL && offset != before)
        memmove(moved, memory + before, used * width);
    *offset_of(moved) = offset;
    memcpy(table, &moved, sizeof moved);
    *capacity = wanted;
    return true;
}

bool table_resize(void *table, size_t width, uint32_t *capacity, uint32_t wanted)
{
    return resize(table, width, *capacity, capacity, wanted);
}

bool table_grow(void *table, size_t width, uint32_t used, uint64_t spare, uint32_t most,
                uint32_t *capacity)
{
    /* Untouched memory costs nothing, but growing copies the table. Therefore a table grows by at
     * least half. */
    uint64_t larger = (uint64_t)used + used / 2 + 4 * spare;
    if (larger > most)
        larger = most;
    return larger >= used + spare && resize(table, width, used, capacity, (uint32_t)larger);
}

bool table_cover(void *table, size_t width, uint32_t *capacity, uint32_t number)
{
    uint32_t before = *capacity;
    if (!table_grow(table, width, number, 4, UINT32_MAX, capacity))
        return false;
    char *entries;
    memcpy(&entries, table, sizeof entries);
    memset(entries + before * width, 0, (*capacity - before) * width);
    return true;
}

void *table_make(size_t width, uint32_t count)
{
    void *entries = NULL;
    uint32_t capacity = 0;
    if (!table_resize(&entries, width, &capacity, count))
        return NULL;
    memset(entries, 0, count * width);
    return entries;
}

void table_release(void *entries)
{
    free(memory_of(entries));
}
