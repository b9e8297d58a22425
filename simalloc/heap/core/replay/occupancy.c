#include "replay/occupancy.h"

#include <stdlib.h>

#include "space/table.h"

bool occupancy_init(struct occupancy *occupancy)
{
    for (size_t i = 0; i < occupancy->sizes; i++)
        if (!page_table_init(&occupancy->of[i].counts))
            return false;
    return true;
}

void occupancy_release(struct occupancy *occupancy)
{
    for (size_t i = 0; i < occupancy->sizes; i++) {
        struct page_table *counts = &occupancy->of[i].counts;
        for (uint64_t group = 0; group < counts->capacity; group++)
            free(counts->groups[group].of_pages);
        page_table_release(counts);
    }
    table_release(occupancy->extents);
}

/* Returns the counter of the objects that begin or end in a page, or NULL if memory is
 * exhausted. */
static uint32_t *count_of(struct occupied_pages *occupied, uint64_t page)
{
    struct page_group *group = page_table_group(&occupied->counts, page / PAGES_OF_GROUP);
    if (group == NULL)
        return NULL;
    if (group->of_pages == NULL)
        group->of_pages = calloc(PAGES_OF_GROUP, sizeof(uint32_t));
    return group->of_pages == NULL ? NULL : (uint32_t *)group->of_pages + page % PAGES_OF_GROUP;
}

static bool enter(struct occupied_pages *occupied, uint64_t page)
{
    uint32_t *count = count_of(occupied, page);
    if (count == NULL)
        return false;
    occupied->pages += (*count)++ == 0;
    return true;
}

static bool leave(struct occupied_pages *occupied, uint64_t page)
{
    uint32_t *count = count_of(occupied, page);
    if (count == NULL)
        return false;
    occupied->pages -= --*count == 0;
    return true;
}

/* Adds an object to its pages, or removes it. The pages between its first and last page contain no
 * other object. */
static bool change(struct occupied_pages *occupied, const struct live_extent *extent,
                   bool (*to)(struct occupied_pages *occupied, uint64_t page))
{
    if (extent->size == 0)
        return true;
    uint64_t first = extent->address / occupied->page;
    uint64_t last = (extent->address + extent->size - 1) / occupied->page;
    uint64_t between = last > first ? last - first - 1 : 0;
    occupied->pages = to == enter ? occupied->pages + between : occupied->pages - between;
    return to(occupied, first) && (last == first || to(occupied, last));
}

bool occupancy_move(struct occupancy *occupancy, uint32_t slot, struct live_extent now)
{
    if (!TABLE_COVER(occupancy->extents, occupancy->slots, slot))
        return false;
    struct live_extent *extent = &occupancy->extents[slot];
    for (size_t i = 0; i < occupancy->sizes; i++)
        if (!change(&occupancy->of[i], extent, leave) || !change(&occupancy->of[i], &now, enter))
            return false;
    *extent = now;
    return true;
}
