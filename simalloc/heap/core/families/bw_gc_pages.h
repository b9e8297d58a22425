/* Where the pages of the collector's heap come from: the break, tables and free runs
 * (simalloc/policy/families/bw_gc.md). */
#ifndef SIMALLOC_BW_GC_PAGES_H
#define SIMALLOC_BW_GC_PAGES_H

#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

/* AVOIDED_PAGES: the bytes of a table of pages that false pointers point to.
   INDEXED: how many pages a stretch has, which are the entries of one index.
   STRETCHES: how many of them can have an index.
   ONE_BY_ONE: how many indexes are at most taken by themselves at a time; the others at once. */
enum { AVOIDED_PAGES = 2048, INDEXED = 1024, STRETCHES = 65536, ONE_BY_ONE = 8 };
enum { DIRECT_CLASSES = 10, CLASSES = DIRECT_CLASSES + 4 * 60, NO_PAGE = UINT32_MAX };

/* What is known of a block besides, by its id. */
struct object {
    uint64_t words; /* that count as allocated */
    uint32_t page;  /* of a small object: its page's number plus one; else 0 */
    uint32_t died;  /* after how many collections, plus one; 0: it is live */
};

/* A page of small objects. */
struct page {
    uint32_t base;  /* its lowest block */
    uint32_t uncut; /* the objects never used, one cached block; or NO_BLOCK */
    uint32_t next;  /* of the pages of its size that wait to be swept; of those that are unused */
    uint32_t class;
    uint64_t live;
};

/* The free small objects of a size. */
struct small {
    uint64_t size;
    uint32_t freed;   /* chained by `family_data`, the newest first; or NO_BLOCK */
    uint32_t page;    /* made or swept last, whose objects never used come next; or NO_PAGE */
    uint32_t waiting; /* pages to be swept, the lowest first; or NO_PAGE */
    bool has_map;
};

struct bw_gc {
    struct heap heap;
    uint64_t page;
    uint64_t roots;
    uint64_t divisor;
    uint64_t increment; /* in pages; that of the next expansion */
    uint64_t most;
    uint64_t extra; /* the byte behind each object */
    struct runs runs;
    uint32_t position; /* a run, or NO_BLOCK: before the lowest */
    bool begun;
    uint64_t pages_of_heap;
    uint32_t collections;
    uint64_t allocated; /* words since the latest collection */
    uint64_t given_back;
    uint64_t in_use; /* runs: pages of small objects, and large ones */
    uint64_t headers;
    uint64_t left; /* of the memory for tables */
    uint64_t indexed[STRETCHES / 64]; /* a bit for each stretch of pages: whether it has an index */
    bool runs_have_map;
    bool large_have_map;
    uint64_t visited; /* in this event */
    struct small small[CLASSES];
    struct object *objects;
    uint32_t object_capacity;
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused;
};

/* Raises the break, with a mechanism by a page more; returns the block without that. */
static uint32_t raise_break(struct bw_gc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    bool mechanism = heap->setting.mechanism;
    uint32_t id = heap_extend(heap, size + (mechanism ? state->page : 0));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    if (mechanism) {
        uint32_t lost = heap_cut_high(heap, id, size);
        heap->blocks[lost].index_slot = STATE_WASTE;
        state->objects[lost].page = 0;
    }
    return id;
}

/* Takes memory for a table, which is never given back. */
static void take_table(struct bw_gc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (!heap->setting.mechanism)
        return;
    if (state->left < size) {
        uint64_t bytes = (17 * state->page + size) / state->page * state->page;
        uint32_t id = raise_break(state, bytes);
        if (id == NO_BLOCK)
            return;
        heap->blocks[id].index_slot = STATE_TABLE;
        state->left = bytes;
    }
    state->left -= size;
}

/* Takes an index for each stretch that the pages lie in and that has none. */
static void take_index(struct bw_gc *state, uint64_t address, uint64_t size)
{
    uint64_t stretch = INDEXED * state->page;
    uint64_t bytes = INDEXED * state->heap.setting.word;
    uint64_t end = (address + size - 1) / stretch + 1;
    uint64_t taken = 0;
    for (uint64_t at = address / stretch; at < end && at < STRETCHES; at++) {
        uint64_t bit = (uint64_t)1 << at % 64;
        if (state->indexed[at / 64] & bit)
            continue;
        state->indexed[at / 64] |= bit;
        if (taken++ < ONE_BY_ONE)
            take_table(state, bytes);
    }
    if (taken > ONE_BY_ONE)
        take_table(state, (taken - ONE_BY_ONE) * bytes);
}

/* Takes a map of where a page's objects of a size begin, unless there is one. */
static void take_map(struct bw_gc *state, bool *taken)
{
    if (!*taken)
        take_table(state, 2 * state->page / state->heap.setting.word);
    *taken = true;
}

static uint64_t count_runs(const struct bw_gc *state)
{
    return state->heap.counters.free_blocks + state->in_use;
}

/* Takes as many headers as `runs` need. */
static void take_headers(struct bw_gc *state, uint64_t runs)
{
    uint64_t word = state->heap.setting.word;
    for (; state->headers < runs; state->headers++)
        take_table(state, 5 * word + (state->page / word + 7) / 8);
}

/* Makes a block of pages a free run; searches begin before the lowest. */
static void free_run(struct bw_gc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    runs_free(&state->runs, id);
    state->position = NO_BLOCK;
}

static void expand(struct bw_gc *state, uint64_t pages)
{
    uint64_t most = MAX_BREAK / state->page + 1; /* which is too many, but not too large a number */
    uint32_t id = raise_break(state, (pages < most ? pages : most) * state->page);
    if (id == NO_BLOCK)
        return;
    state->pages_of_heap += pages;
    take_index(state, state->heap.blocks[id].address, state->page);
    take_headers(state, count_runs(state) + 1);
    free_run(state, id);
}

/* Takes the tables that there are from the first, and the first pages. */
static void begin(struct bw_gc *state)
{
    struct heap *heap = &state->heap;
    state->begun = true;
    for (unsigned table = 0; table < 3; table++)
        take_table(state, AVOIDED_PAGES);
    if (heap->setting.mechanism) {
        uint32_t stack = raise_break(state, 2 * heap->setting.word * state->page);
        if (stack == NO_BLOCK)
            return;
        heap->blocks[stack].index_slot = STATE_TABLE;
    }
    expand(state, state->increment);
    take_map(state, &state->runs_have_map);
}

/* The next run by address, behind the highest the lowest; NO_BLOCK if there are none. */
static uint32_t run_behind(const struct bw_gc *state, uint32_t id)
{
    uint32_t next = runs_next(&state->runs, id);
    return next == NO_BLOCK ? runs_next(&state->runs, NO_BLOCK) : next;
}

/* The run that a search takes, or NO_BLOCK: the first that is large enough, but a smaller one right
 * behind it is rather taken. */
static uint32_t find_run(struct bw_gc *state, uint64_t size)
{
    const struct block *blocks = state->heap.blocks;
    uint32_t from = runs_next(&state->runs, state->position);
    uint32_t id = runs_find(&state->runs, from, size, &state->visited);
    uint32_t next = run_behind(state, id);
    while (blocks[next].size < blocks[id].size && blocks[next].size >= size) {
        id = next;
        next = run_behind(state, id);
        state->visited++;
    }
    return id;
}

/* Takes whole pages if a run has them, else returns NO_BLOCK. */
static uint32_t take_run(struct bw_gc *state, uint64_t size)
{
    uint32_t id = find_run(state, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint32_t next = runs_next(&state->runs, id);
    uint32_t rest;
    uint32_t taken = runs_take(&state->runs, id, size, &rest);
    state->heap.blocks[taken].index_slot = STATE_WASTE;
    state->position = rest == NO_BLOCK ? next : rest;
    state->in_use++;
    uint64_t address = state->heap.blocks[taken].address;
    if (rest != NO_BLOCK)
        take_index(state, address + size, state->page);
    take_headers(state, count_runs(state));
    take_index(state, address, size);
    return taken;
}

#endif
