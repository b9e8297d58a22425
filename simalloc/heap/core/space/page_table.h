/* State of pages, in a hash table with one entry per group of PAGES_OF_GROUP consecutive pages.
 * Groups without an entry have no data on any page. */
#ifndef SIMALLOC_PAGE_TABLE_H
#define SIMALLOC_PAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PAGES_OF_GROUP = 4096,
    PAGES_OF_HUGE = 512, /* pages in a huge page: 2 MiB if a page has 4 KiB */
    HUGE_OF_GROUP = PAGES_OF_GROUP / PAGES_OF_HUGE,
};

/* split & ~huge == 0: only a huge page can have lost a part. */
struct page_group {
    uint64_t key; /* page number / PAGES_OF_GROUP + 1, or 0 in an unused entry */
    void *of_pages; /* the caller's data on each page, or NULL */
    uint8_t huge;   /* bitmap of huge pages, which become resident as a whole */
    uint8_t split;  /* bitmap of partially purged huge pages; a bit is cleared when its whole
                     * huge page is purged */
};

/* `used` is the number of groups with a key other than 0, and below `capacity`, so that a search
 * ends; the group of page `number` has key == number / PAGES_OF_GROUP + 1. */
struct page_table {
    struct page_group *groups;
    uint64_t capacity; /* a power of two */
    uint64_t used;
    uint64_t latest; /* index of the entry of the last look-up */
};

/* Returns false when memory is exhausted. */
bool page_table_init(struct page_table *table);

/* Frees the table. The caller frees each `of_pages` first. */
void page_table_release(struct page_table *table);

/* Finds or adds the entry of a group; may move all entries. Returns NULL when memory is exhausted.
 * `number` is the page number / PAGES_OF_GROUP. */
struct page_group *page_table_look_up(struct page_table *table, uint64_t number);

/* Returns the entry of a group, or NULL if it has none. */
const struct page_group *page_table_find(const struct page_table *table, uint64_t number);

/* Same as page_table_look_up(), but fast for the latest entry. The pointer is valid until the next
 * look-up. */
static inline struct page_group *page_table_group(struct page_table *table, uint64_t number)
{
    struct page_group *latest = &table->groups[table->latest];
    return latest->key == number + 1 ? latest : page_table_look_up(table, number);
}

#endif
