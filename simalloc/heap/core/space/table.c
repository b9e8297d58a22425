#include "space/table.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* How far the entries are from the beginning of their memory stands right before them. */
static size_t *offset_of(void *entries)
{
    return (size_t *)entries - 1;
}

static void *memory_of(void *entries)
{
    return entries == NULL ? NULL : (char *)entries - *offset_of(entries);
}

void *table_resize(void *entries, size_t width, uint32_t used, uint32_t capacity)
{
    size_t before = entries == NULL ? 0 : *offset_of(entries);
    char *memory = realloc(memory_of(entries), capacity * width + CACHE_LINE);
    if (memory == NULL)
        return NULL;
    size_t offset = CACHE_LINE - (uintptr_t)memory % CACHE_LINE;
    char *moved = memory + offset;
    if (entries != NULL && offset != before)
        memmove(moved, memory + before, used * width);
    *offset_of(moved) = offset;
    return moved;
}

void *table_grow(void *entries, size_t width, uint32_t used, uint64_t spare, uint32_t most,
                 uint32_t *capacity)
{
    /* Memory that is not touched costs nothing, but growing copies it. */
    uint64_t larger = (uint64_t)used + used / 2 + 4 * spare;
    if (larger > most)
        larger = most;
    if (larger < used + spare)
        return NULL;
    void *grown = table_resize(entries, width, used, (uint32_t)larger);
    if (grown != NULL)
        *capacity = (uint32_t)larger;
    return grown;
}

void table_release(void *entries)
{
    free(memory_of(entries));
}
