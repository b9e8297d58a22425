#include "table.h"

#include <stdlib.h>

void *table_grow(void *entries, size_t width, uint32_t used, uint64_t spare, uint32_t most,
                 uint32_t *capacity)
{
    /* Memory that is not touched costs nothing, but growing copies it. */
    uint64_t larger = (uint64_t)used + used / 2 + 4 * spare;
    if (larger > most)
        larger = most;
    if (larger < used + spare)
        return NULL;
    void *grown = realloc(entries, (size_t)larger * width);
    if (grown != NULL)
        *capacity = (uint32_t)larger;
    return grown;
}
