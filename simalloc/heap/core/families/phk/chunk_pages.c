/* PhK malloc's pages of chunks (policy/families/phk.md). */
#include "families/phk/phk.h"

void phk_chunk_pages_init(struct chunk_pages *pages)
{
    pages->unused = NO_PAGE;
    for (unsigned class = 0; class < CLASSES; class++)
        pages->lists[class] = NO_PAGE;
}

void phk_chunk_pages_release(struct chunk_pages *pages)
{
    for (uint32_t number = 0; number < pages->count; number++) {
        table_release(pages->all[number].ids);
        table_release(pages->all[number].bits);
    }
    table_release(pages->all);
}

uint32_t phk_new_page_number(struct chunk_pages *pages)
{
    uint32_t number = pages->unused;
    if (number != NO_PAGE) {
        pages->unused = pages->all[number].after;
        return number;
    }
    if (!TABLE_SPARE(pages->all, pages->count, 1, NO_PAGE - 1, pages->capacity))
        return NO_PAGE;
    number = pages->count++;
    pages->all[number] = (struct page){.places = 0};
    return number;
}
