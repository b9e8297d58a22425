#include "replay/refusals.h"

#include <stdlib.h>
#include <string.h>

bool refusals_reserve(struct refusals *refusals, uint64_t slots)
{
    if (LIKELY(refusals->slots >= slots))
        return true;
    uint64_t *sizes = realloc(refusals->sizes, slots * sizeof *sizes);
    if (sizes == NULL)
        return false;
    memset(&sizes[refusals->slots], 0, (slots - refusals->slots) * sizeof *sizes);
    refusals->sizes = sizes;
    refusals->slots = slots;
    return true;
}

void refusals_release(struct refusals *refusals)
{
    free(refusals->sizes);
}
