#include "replay/refusals.h"

#include "space/table.h"

bool refusals_reserve(struct refusals *refusals, uint64_t slots)
{
    return TABLE_COVER(refusals->sizes, refusals->slots, (uint32_t)(slots - 1));
}

void refusals_release(struct refusals *refusals)
{
    table_release(refusals->sizes);
}
