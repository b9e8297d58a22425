/* Declarations shared by the parts of the collector of Boehm, Demers and Weiser (rules:
 * policy/families/bw_gc.md). */
#ifndef SIMALLOC_BW_GC_H
#define SIMALLOC_BW_GC_H

#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

/* AVOIDED_PAGES: the bytes of a table of pages that false pointers point to.
   INDEXED: how many pages a stretch has, which are the entries of one index.
   STRETCHES: how many of them can have an index.
   ONE_BY_ONE: how many indexes are at most taken by themselves at a time; the others at once. */
enum { AVOIDED_PAGES = 2048, INDEXED = 1024, STRETCHES = 65536, ONE_BY_ONE = 8 };
enum { DIRECT_CLASSES = 10, CLASSES = DIRECT_CLASSES + 4 * 60, NO_PAGE = UINT32_MAX };

/* Further data of a block, by its id. */
struct object {
    uint64_t words; /* words that count as allocated */
    uint32_t page;  /* number of a small object's page plus one, or 0 */
    uint32_t died;  /* collections before the death plus one, or 0 if live */
};

/* A page of small objects. */
struct page {
    uint32_t base;  /* lowest block */
    uint32_t uncut; /* objects never used, one cached block; or NO_BLOCK */
    uint32_t next;  /* next page of its size to be swept, or next unused page */
    uint32_t class;
    uint64_t live;
};

/* The free small objects of a size. */
struct small {
    uint64_t size;
    uint32_t freed;   /* chained by `family_data`, the newest first; or NO_BLOCK */
    uint32_t page;    /* page made or swept last, whose unused objects come next; or NO_PAGE */
    uint32_t waiting; /* pages to be swept, the lowest first; or NO_PAGE */
    bool has_map;
};

struct bw_gc {
    struct heap heap;
    uint64_t page;
    uint64_t roots;
    uint64_t divisor;
    uint64_t increment; /* pages of the next expansion */
    uint64_t most;
    uint64_t extra; /* the byte behind each object */
    struct runs runs;
    uint32_t position; /* run where the next search begins, or NO_BLOCK for the lowest */
    uint64_t pages_of_heap;
    uint32_t collections;
    uint64_t allocated; /* words since the latest collection */
    uint64_t freed_words; /* since the latest collection */
    uint64_t in_use; /* number of runs in use: pages of small objects, and large ones */
    uint64_t headers;
    uint64_t left; /* bytes left of the memory for tables */
    uint64_t indexed[STRETCHES / 64]; /* bitmap of stretches of pages with an index */
    bool runs_have_map;
    bool large_have_map;
    uint64_t visited; /* blocks visited in this event */
    struct small small[CLASSES];
    struct object *objects;
    uint32_t object_capacity;
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused;
};

/* pages.c: allocation of pages. */

/* Allocates a map of the starts of a page's objects of a size, unless it exists. Returns false if
 * its memory is refused. */
bool bw_gc_take_map(struct bw_gc *state, bool *taken);

/* Makes a block of pages a free run; the next search begins at the lowest run. */
void bw_gc_free_run(struct bw_gc *state, uint32_t id);

/* Raises the break by `pages`, which become a free run. Returns false if they, or memory for a
 * table, are refused. */
bool bw_gc_expand(struct bw_gc *state, uint64_t pages);

/* Allocates the initial tables and pages. Returns false if any of them is refused. */
bool bw_gc_begin(struct bw_gc *state);

/* Frees a run that was taken for a request that is then refused. Returns NO_BLOCK. */
uint32_t bw_gc_put_back(struct bw_gc *state, uint32_t id);

/* Takes whole pages. Returns NO_BLOCK unless a run and the tables for it fit. */
uint32_t bw_gc_take_run(struct bw_gc *state, uint64_t size);

#endif
