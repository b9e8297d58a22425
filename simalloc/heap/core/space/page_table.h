/* What is known of pages, found by their numbers: a hash table has an entry for each group of pages
 * of which anything was ever known. */
#ifndef SIMALLOC_PAGE_TABLE_H
#define SIMALLOC_PAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PAGES_OF_GROUP = 4096,
    PAGES_OF_HUGE = 512, /* of a huge page: 2 MiB, if pages have 4 KiB */
    HUGE_OF_GROUP = PAGES_OF_GROUP / PAGES_OF_HUGE,
};

/* split & ~huge == 0: only a huge page can have lost a part. */
struct page_group {
    uint64_t key; /* the number of its first page / PAGES_OF_GROUP, plus 1; 0: no entry */
    void *of_pages; /* what is known of each; NULL: nothing */
    uint8_t huge;   /* huge pages, as bits: each becomes resident as a whole */
    uint8_t split;  /* those of them of which a part was given back, and never all since then */
};

/* `used` is the number of groups with a key other than 0, and below `capacity`, so that a search
 * ends; the group of page `number` has key == number / PAGES_OF_GROUP + 1. */
struct page_table {
    struct page_group *groups;
    uint64_t capacity; /* a power of two */
    uint64_t used;
    uint64_t latest; /* the entry that was looked up last */
};

/* False when memory is exhausted. */
bool page_table_init(struct page_table *table);

/* Frees the table, but not what is known of the pages. */
void page_table_release(struct page_table *table);

/* Adds an entry that is not the latest; NULL when memory is exhausted. */
struct page_group *page_table_look_up(struct page_table *table, uint64_t number);

/* The group of a number; NULL: nothing was ever known of its pages. */
const struct page_group *page_table_find(const struct page_table *table, uint64_t number);

/* The group of a number, to be changed before the next is asked for; NULL when memory is exhausted. */
static inline struct page_group *page_table_group(struct page_table *table, uint64_t number)
{
    struct page_group *latest = &table->groups[table->latest];
    return latest->key == number + 1 ? latest : page_table_look_up(table, number);
}

#endif
