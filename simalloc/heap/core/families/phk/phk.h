/* Declarations shared by the parts of PhK malloc (rules: policy/families/phk.md). */
#ifndef SIMALLOC_PHK_H
#define SIMALLOC_PHK_H

#include "replay/replay.h"
#include "space/table.h"

enum { SMALLEST = 16, CLASSES = 64, NO_PAGE = UINT32_MAX };

/* A page of chunks. Freed chunks are recorded by their places in the page. Chunks that were never
 * used are above all others. */
struct page {
    uint32_t before; /* previous page of its class with a free chunk */
    uint32_t after;  /* next page of its class, or next unused page */
    uint32_t base;   /* lowest block, which is a chunk or the descriptor */
    uint32_t uncut;  /* block of the chunks that were never used, in state cached, or NO_BLOCK */
    uint32_t descriptor; /* chunk in another page that describes this page, or NO_BLOCK */
    uint32_t class;
    uint64_t live;
    uint64_t freed; /* number of freed chunks */
    uint64_t address;
    uint32_t places; /* number of entries in `ids` */
    uint32_t words;  /* number of words in `bits` */
    uint32_t *ids;   /* freed chunk of each place */
    uint64_t *bits;  /* bitmap of freed chunks, by place */
};

/* All pages of chunks, by number. */
struct chunk_pages {
    uint32_t lists[CLASSES]; /* first page of each class with a free chunk, or NO_PAGE */
    struct page *all;
    uint32_t count;
    uint32_t capacity;
    uint32_t unused; /* first unused page, or NO_PAGE; linked by `after` */
};

/* Position of a page that re-enters its list after a free. */
enum page_order { ALMOST_BY_ADDRESS, BY_ADDRESS, NEWEST_FIRST };

/* chunk_pages.c: the pages of chunks. */

void phk_chunk_pages_init(struct chunk_pages *pages);

void phk_chunk_pages_release(struct chunk_pages *pages);

/* Returns the number of an unused page, or NO_PAGE if memory is exhausted. */
uint32_t phk_new_page_number(struct chunk_pages *pages);

/* Inserts a page in the list of its class between two pages; either may be NO_PAGE. This function
 * and the following ones are inlined because calls would cost 7 % more instructions per event. */
ALWAYS_INLINE void enter_list(struct chunk_pages *pages, uint32_t number, uint32_t before,
                              uint32_t after)
{
    struct page *page = &pages->all[number];
    page->before = before;
    page->after = after;
    if (before == NO_PAGE)
        pages->lists[page->class] = number;
    else
        pages->all[before].after = number;
    if (after != NO_PAGE)
        pages->all[after].before = number;
}

/* Inserts a page in address order: before the first page with a higher address, or at the end. If
 * `almost` is set, inserts it one place earlier if a page with a lower address precedes that
 * place. */
ALWAYS_INLINE void enter_by_address(struct chunk_pages *pages, uint32_t number, bool almost)
{
    const struct page *all = pages->all;
    uint32_t at = pages->lists[all[number].class];
    if (at == NO_PAGE) {
        enter_list(pages, number, NO_PAGE, NO_PAGE);
        return;
    }
    while (all[at].after != NO_PAGE && all[all[at].after].address < all[number].address)
        at = all[at].after;
    if (almost || all[at].address > all[number].address)
        enter_list(pages, number, all[at].before, at);
    else
        enter_list(pages, number, at, all[at].after);
}

ALWAYS_INLINE void leave_list(struct chunk_pages *pages, uint32_t number)
{
    const struct page *page = &pages->all[number];
    if (page->before == NO_PAGE)
        pages->lists[page->class] = page->after;
    else
        pages->all[page->before].after = page->after;
    if (page->after != NO_PAGE)
        pages->all[page->after].before = page->before;
}

/* Reserves entries of a page for a place. Returns false if memory is exhausted. */
ALWAYS_INLINE bool reserve_place(struct page *page, uint64_t place)
{
    return TABLE_COVER(page->ids, page->places, (uint32_t)place) &&
           TABLE_COVER(page->bits, page->words, (uint32_t)(place / 64));
}

/* Takes the lowest freed chunk of a page. */
ALWAYS_INLINE uint32_t take_freed(struct page *page)
{
    uint64_t word = 0;
    while (page->bits[word] == 0)
        word++;
    uint64_t place = 64 * word + (unsigned)__builtin_ctzll(page->bits[word]);
    page->bits[word] &= page->bits[word] - 1;
    page->freed--;
    return page->ids[place];
}

#endif
