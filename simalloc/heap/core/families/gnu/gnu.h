/* Declarations shared by the parts of GNU malloc (rules: policy/families/gnu.md). */
#ifndef SIMALLOC_GNU_H
#define SIMALLOC_GNU_H

#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

enum { CLASSES = 64, NO_PAGE = UINT32_MAX };

/* A page of fragments. Fragments in `freed` are used first, and then the uncut part from its high
 * end down. */
struct page {
    uint32_t before; /* previous page of its class with free fragments */
    uint32_t after;  /* next page of its class, or next unused page */
    uint32_t base;   /* lowest fragment */
    uint32_t freed;  /* first freed fragment, or NO_BLOCK; linked by `family_data` */
    uint32_t uncut;  /* block of the fragments that were never used, in state cached, or NO_BLOCK */
    uint32_t class;
    uint64_t live;
};

struct gnu {
    /* An allocated fragment's `family_data` is the number of its page plus 1. Other allocated
     * blocks have 0. */
    struct heap heap;
    uint64_t page;     /* bytes of a page */
    uint64_t returned; /* minimum bytes of a run at the break that is returned to the system */
    struct runs runs;
    uint32_t index;          /* run where the next search begins, or NO_BLOCK for the lowest */
    uint64_t limit;          /* break that the allocator expects after its own growths and trims */
    uint64_t entries;        /* number of entries of the page table */
    uint32_t table;          /* block of the page table, or NO_BLOCK before it is made */
    uint64_t visited;        /* blocks visited in the current event */
    uint64_t smallest;       /* bytes of the smallest fragment */
    uint32_t lists[CLASSES]; /* first page of each class with a free fragment, or NO_PAGE */
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused; /* first unused page, or NO_PAGE; linked by `after` */
};

/* pages.c: free runs, the break, and the page table. */

/* Turns a block that is not counted as allocated into a free run, at which the next search
 * begins. */
void gnu_free_run(struct gnu *state, uint32_t id);

/* Frees pages as gnu_free_run() does. Then returns the run to the system if it is large and ends at
 * the break. */
void gnu_free_pages(struct gnu *state, uint32_t id);

/* Allocates a page table of state->entries entries. Returns false if memory is refused. */
bool gnu_new_table(struct gnu *state);

/* Returns whether the capacity allows `size` more bytes and the larger page table that they
 * need. */
bool gnu_has_room(struct gnu *state, uint64_t size);

/* Allocates whole pages and does not count them as allocated. Returns NO_BLOCK if memory is
 * refused. */
uint32_t gnu_take_pages(struct gnu *state, uint64_t size);

/* Allocates the first page table. Returns false if memory is refused. */
ALWAYS_INLINE bool begin(struct gnu *state)
{
    if (!state->heap.setting.mechanism || state->table != NO_BLOCK)
        return true;
    state->entries = 1024;
    return gnu_new_table(state);
}

#endif
