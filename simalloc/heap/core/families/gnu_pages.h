/* Where the pages of GNU malloc come from: free runs, the break, and the table of all pages
 * (simalloc/policy/families/gnu.md). */
#ifndef SIMALLOC_GNU_PAGES_H
#define SIMALLOC_GNU_PAGES_H

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
    uint64_t limit;    /* the break as growths of pages and what was given back have left it */
    uint64_t entries;  /* of the table; 0: there is none yet */
    uint32_t table;    /* STATE_TABLE; counts once there are entries */
    uint64_t visited;  /* in this event */
    uint64_t smallest; /* size of a fragment */
    uint32_t lists[CLASSES]; /* the first page of each class with a free fragment, or NO_PAGE */
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused; /* chain of pages, or NO_PAGE */
};

/* Makes a block that is not counted as allocated a free run; the next search begins there. */
static void free_run(struct gnu *state, uint32_t id)
{
    state->index = runs_free(&state->runs, id);
}

/* Does the same, and gives the run back if it is large and at the end. */
static void free_pages(struct gnu *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    free_run(state, id);
    id = state->index;
    if (heap->blocks[id].size < state->returned || heap->brk != state->limit ||
        heap->blocks[id].next != NO_BLOCK)
        return;
    runs_remove(&state->runs, id);
    state->limit -= heap->blocks[id].size;
    heap_lower(heap, heap->blocks[id].size);
    state->index = runs_highest(&state->runs);
}

/* Allocates a table of as many entries as the state says; false if memory cannot be had. */
static bool new_table(struct gnu *state)
{
    struct heap *heap = &state->heap;
    uint64_t bytes = state->entries * 3 * heap->setting.word;
    uint32_t table = heap_extend(heap, round_up(bytes, state->page));
    if (table == NO_BLOCK)
        return false;
    heap->counters.growths++;
    heap->blocks[table].index_slot = STATE_TABLE;
    state->table = table;
    return true;
}

/* Allocates the first table; false if memory cannot be had. */
static bool begin(struct gnu *state)
{
    if (!state->heap.setting.mechanism || state->entries != 0)
        return true;
    state->entries = 1024;
    return new_table(state);
}

/* Allocates a table of twice as many entries, or more, until there are enough, and frees the old
 * one; false if memory cannot be had. */
static bool grow_table(struct gnu *state)
{
    struct heap *heap = &state->heap;
    uint64_t needed = heap->brk / state->page + 1;
    if (!heap->setting.mechanism || needed <= state->entries)
        return true;
    while (state->entries < needed)
        state->entries *= 2;
    uint32_t old = state->table;
    if (!new_table(state))
        return false;
    heap->blocks[old].index_slot = STATE_ALLOCATED;
    free_pages(state, old);
    return true;
}

/* Uses the low end of a run; the next search begins with what is left, or behind it. */
static uint32_t use_run(struct gnu *state, uint32_t id, uint64_t size)
{
    uint32_t next = runs_next(&state->runs, id);
    uint32_t rest;
    uint32_t taken = runs_take(&state->runs, id, size, &rest);
    state->index = rest == NO_BLOCK ? next : rest;
    return taken;
}

/* Raises the break; returns the pages used, not yet counted as allocated. */
static uint32_t grow(struct gnu *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t last = runs_highest(&state->runs);
    bool merges = last != NO_BLOCK && heap->blocks[last].next == NO_BLOCK &&
                  heap->brk == state->limit;
    uint32_t id = heap_extend(heap, size - (merges ? heap->blocks[last].size : 0));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    state->limit = heap->brk;
    if (!grow_table(state))
        return NO_BLOCK;
    return merges ? use_run(state, runs_free(&state->runs, id), size) : id;
}

/* Allocates whole pages, which are not yet counted as allocated. */
static uint32_t take_pages(struct gnu *state, uint64_t size)
{
    uint32_t id = runs_find(&state->runs, state->index, size, &state->visited);
    return id == NO_BLOCK ? grow(state, size) : use_run(state, id, size);
}

#endif
