/* Declarations shared by the parts of GNU malloc (rules: policy/families/gnu.md). */
#ifndef SIMALLOC_GNU_H
#define SIMALLOC_GNU_H

#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

enum { CLASSES = 64, NO_PAGE = UINT32_MAX };

/* A page of fragments. The fragments in `freed` are used first, then the uncut part from its high
 * end down. */
struct page {
    uint32_t before; /* previous page of its class with free fragments */
    uint32_t after;  /* next page of its class, or next unused page */
    uint32_t base;   /* lowest fragment */
    uint32_t freed;  /* free fragments, chained by `family_data`; or NO_BLOCK */
    uint32_t uncut;  /* fragments never used, one cached block; or NO_BLOCK */
    uint32_t class;
    uint64_t live;
};

struct gnu {
    /* An allocated fragment's `family_data` is its page's number plus one, else 0. */
    struct heap heap;
    uint64_t page;     /* size of a page */
    uint64_t returned; /* minimum bytes of a run at the end that is returned to the system */
    struct runs runs;
    uint32_t index;    /* run where the next search begins, or NO_BLOCK for the lowest */
    uint64_t limit;    /* the break after all growths and trims */
    uint64_t entries;  /* entries of the table */
    uint32_t table;    /* block of the table, or NO_BLOCK before it is made */
    uint64_t visited;  /* blocks visited in this event */
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

/* Frees pages like gnu_free_run(), and returns the run to the system if it is large and at the
 * end. */
void gnu_free_pages(struct gnu *state, uint32_t id);

/* Allocates a table of state->entries entries. Returns false if memory is refused. */
bool gnu_new_table(struct gnu *state);

/* Returns whether the capacity leaves room for `size` more bytes and the table that they need. */
bool gnu_has_room(struct gnu *state, uint64_t size);

/* Allocates whole pages, which are not yet counted as allocated. */
uint32_t gnu_take_pages(struct gnu *state, uint64_t size);

/* Allocates the first table. Returns false if memory is refused. */
ALWAYS_INLINE bool begin(struct gnu *state)
{
    if (!state->heap.setting.mechanism || state->table != NO_BLOCK)
        return true;
    state->entries = 1024;
    return gnu_new_table(state);
}

#endif
