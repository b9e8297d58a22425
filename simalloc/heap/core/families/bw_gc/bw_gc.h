/* The collector of Boehm, Demers and Weiser: what its parts share (policy/families/bw_gc.md). */
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

/* pages.c: where pages come from. */

/* Takes a map of where a page's objects of a size begin, unless there is one; returns false if its
 * memory is refused. */
bool bw_gc_take_map(struct bw_gc *state, bool *taken);

/* Makes a block of pages a free run; searches begin before the lowest. */
void bw_gc_free_run(struct bw_gc *state, uint32_t id);

/* Raises the break by this many pages, which become a free run; returns false if that, or memory for
 * a table, is refused. */
bool bw_gc_expand(struct bw_gc *state, uint64_t pages);

/* Takes the tables that there are from the first, and the first pages; returns false if some of it
 * is refused. */
bool bw_gc_begin(struct bw_gc *state);

/* Frees a run that was taken for a request which is refused; returns NO_BLOCK. */
uint32_t bw_gc_put_back(struct bw_gc *state, uint32_t id);

/* Takes whole pages if a run has them and the tables of both fit, else returns NO_BLOCK. */
uint32_t bw_gc_take_run(struct bw_gc *state, uint64_t size);

#endif
