/* Declarations shared by the parts of the garbage collector of Boehm, Demers and Weiser (rules:
 * policy/families/bw_gc.md). */
#ifndef SIMALLOC_BW_GC_H
#define SIMALLOC_BW_GC_H

#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

/* AVOIDED_PAGES: bytes of the table of pages that false pointers point to. INDEXED: pages of a
 * stretch, which one index describes. STRETCHES: maximum number of stretches with an index.
 * ONE_BY_ONE: maximum number of indexes that are allocated one at a time; further indexes are
 * allocated together. */
enum { AVOIDED_PAGES = 2048, INDEXED = 1024, STRETCHES = 65536, ONE_BY_ONE = 8 };
enum { DIRECT_CLASSES = 10, CLASSES = DIRECT_CLASSES + 4 * 60, NO_PAGE = UINT32_MAX };

/* Further data of a block, by block id. */
struct object {
    uint64_t words; /* words that count as allocated */
    uint32_t page;  /* number of a small object's page plus 1, or 0 */
    uint32_t died;  /* number of collections before the object's death plus 1, or 0 if live */
};

/* A page of small objects. */
struct page {
    uint32_t base;  /* lowest block */
    uint32_t uncut; /* block of the objects that were never used, in state cached, or NO_BLOCK */
    uint32_t next;  /* next page of its size to sweep, or next unused page */
    uint32_t class;
    uint64_t live;
};

/* The free small objects of one size. */
struct small {
    uint64_t size;
    uint32_t freed;   /* newest free object, or NO_BLOCK; linked by `family_data` */
    uint32_t page;    /* page made or swept last, whose unused objects are used next, or NO_PAGE */
    uint32_t waiting; /* first page to sweep, or NO_PAGE */
    bool has_map;
};

struct bw_gc {
    struct heap heap;
    uint64_t page;
    uint64_t roots;
    uint64_t divisor;
    uint64_t increment; /* pages of the next growth */
    uint64_t most;
    uint64_t extra; /* bytes added to each object */
    struct runs runs;
    uint32_t position; /* run where the next search begins, or NO_BLOCK for the lowest */
    uint64_t pages_of_heap;
    uint32_t collections;
    uint64_t allocated;   /* words allocated since the latest collection */
    uint64_t freed_words; /* words freed since the latest collection */
    uint64_t in_use; /* number of runs in use, each a page of small objects or a large object */
    uint64_t headers;
    uint64_t left;                    /* unused bytes of the memory for tables */
    uint64_t indexed[STRETCHES / 64]; /* bitmap of stretches of pages with an index */
    bool runs_have_map;
    bool large_have_map;
    uint64_t visited; /* blocks visited in the current event */
    struct small small[CLASSES];
    struct object *objects;
    uint32_t object_capacity;
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused;
};

/* pages.c: the pages of the heap. */

/* Allocates the map of object starts for a size, unless it exists. Returns false if its memory is
 * refused. */
bool bw_gc_take_map(struct bw_gc *state, bool *taken);

/* Turns a block of pages into a free run. The next search begins at the lowest run. */
void bw_gc_free_run(struct bw_gc *state, uint32_t id);

/* Raises the break by `pages` pages, which become a free run. Returns false if they, or memory for
 * a table, are refused. */
bool bw_gc_expand(struct bw_gc *state, uint64_t pages);

/* Allocates the initial tables and pages. Returns false if any of them is refused. */
bool bw_gc_begin(struct bw_gc *state);

/* Frees a run that was taken for a request which is then refused. Returns NO_BLOCK. */
uint32_t bw_gc_put_back(struct bw_gc *state, uint32_t id);

/* Allocates whole pages. Returns NO_BLOCK if no run fits or if memory for a table is refused. */
uint32_t bw_gc_take_run(struct bw_gc *state, uint64_t size);

#endif
