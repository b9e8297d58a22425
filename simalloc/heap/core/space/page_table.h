/* Hash table of the state of pages, with one entry per group of PAGES_OF_GROUP consecutive pages.
 * No page of a group without an entry has data. */
#ifndef SIMALLOC_PAGE_TABLE_H
#define SIMALLOC_PAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PAGES_OF_GROUP = 4096,
    PAGES_OF_HUGE = 512, /* pages in a huge page: 2 MiB if a page has 4 KiB */
    HUGE_OF_GROUP = PAGES_OF_GROUP / PAGES_OF_HUGE,
};

/* Invariant: split & ~huge == 0, because only a huge page can be partially purged. */
struct page_group {
    uint64_t key; /* page number / PAGES_OF_GROUP + 1, or 0 in an unused entry */
    void *of_pages; /* the caller's data on all pages of the group, or NULL */
    uint8_t huge;   /* bitmap of huge pages, which become resident as a whole */
    uint8_t split;  /* bitmap of partially purged huge pages; a bit is cleared when its whole
                     * huge page is purged */
};

/* `used` is the number of groups with a key other than 0. It is less than `capacity`, so that every
 * search ends. The group of page `number` has key == number / PAGES_OF_GROUP + 1. */
struct page_table {
    struct page_group *groups;
    uint64_t capacity; /* power of two */
    uint64_t used;
    uint64_t latest; /* index of the entry of the last look-up */
};

/* Initialises an empty table. Returns false if memory is exhausted. */
bool page_table_init(struct page_table *table);

/* Frees the table. The caller frees each `of_pages` first. */
void page_table_release(struct page_table *table);

/* Returns the entry of a group, after adding it if it is new. All entries may move. Returns NULL if
 * memory is exhausted. `number` is the page number / PAGES_OF_GROUP. */
struct page_group *page_table_look_up(struct page_table *table, uint64_t number);

/* Returns the entry of a group, or NULL if it has none. */
const struct page_group *page_table_find(const struct page_table *table, uint64_t number);

/* Does the same as page_table_look_up(), but faster for the latest entry. The pointer is valid
 * until the next look-up. */
static inline struct page_group *page_table_group(struct page_table *table, uint64_t number)
{
    struct page_group *latest = &table->groups[table->latest];
    return latest->key == number + 1 ? latest : page_table_look_up(table, number);
}

#endif
