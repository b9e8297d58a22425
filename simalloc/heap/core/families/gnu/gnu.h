/* GNU malloc: what its parts share (policy/families/gnu.md). */
#ifndef SIMALLOC_GNU_H
#define SIMALLOC_GNU_H

#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

enum { CLASSES = 64, NO_PAGE = UINT32_MAX };

/* A page of fragments. First come those in `freed`, then the uncut part from its high end down. */
struct page {
    uint32_t before; /* in the list of its class, of pages with free fragments */
    uint32_t after;  /* there; while the page is unused, the next unused one */
    uint32_t base;   /* its lowest fragment */
    uint32_t freed;  /* free fragments, chained by `family_data`; or NO_BLOCK */
    uint32_t uncut;  /* those never used, one cached block; or NO_BLOCK */
    uint32_t class;
    uint64_t live;
};

struct gnu {
    /* An allocated fragment's `family_data` is its page's number plus one, else 0. */
    struct heap heap;
    uint64_t page;     /* the size of one */
    uint64_t returned; /* a run at the end that has as much is given back */
    struct runs runs;
    uint32_t index;    /* where the next search begins: a run, or NO_BLOCK, before the lowest */
    uint64_t limit;    /* the break after all growths and trims */
    uint64_t entries;  /* of the table */
    uint32_t table;    /* STATE_TABLE, or NO_BLOCK: there is none yet */
    uint64_t visited;  /* in this event */
    uint64_t smallest; /* size of a fragment */
    uint32_t lists[CLASSES]; /* the first page of each class with a free fragment, or NO_PAGE */
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused; /* chain of pages, or NO_PAGE */
};

/* pages.c: free runs, the break, and the table of all pages. */

/* Makes a block that is not counted as allocated a free run; the next search begins there. */
void gnu_free_run(struct gnu *state, uint32_t id);

/* Does the same, and gives the run back if it is large and at the end. */
void gnu_free_pages(struct gnu *state, uint32_t id);

/* Allocates a table of as many entries as the state says; false if memory cannot be had. */
bool gnu_new_table(struct gnu *state);

/* Returns whether the capacity leaves room for `size` more bytes and the table that they need. */
bool gnu_has_room(const struct gnu *state, uint64_t size);

/* Allocates whole pages, which are not yet counted as allocated. */
uint32_t gnu_take_pages(struct gnu *state, uint64_t size);

/* Allocates the first table; false if memory cannot be had. */
ALWAYS_INLINE bool begin(struct gnu *state)
{
    if (!state->heap.setting.mechanism || state->table != NO_BLOCK)
        return true;
    state->entries = 1024;
    return gnu_new_table(state);
}

#endif
