/* Declarations shared by the parts of the mimalloc 3 model (rules: policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC3_H
#define SIMALLOC_MIMALLOC3_H

#include "families/mimalloc/mimalloc.h"

enum {
    LARGEST_SMALL = 10 * 1024, /* largest block in a small page, which has one slice */
    LARGEST_BLOCK = 512 * 1024, /* larger blocks get a page each */
    PAGE_HEADER = 128,
};

#define NO_ARENA UINT32_MAX
#define MAPPING_ALIGNMENT (256 * MIB)
#define CHUNK_SIZE (CHUNK * SLICE)

/* Abandoned pages with free blocks, of one arena and one bin. */
struct marks {
    uint64_t *bits; /* bitmap by first slice of the page, or NULL before the first mark */
    uint32_t count; /* number of set bits */
};

struct arena {
    uint64_t start;
    uint64_t absolute; /* start address in the real process */
    uint64_t size;
    uint64_t expire; /* time of the next purge in milliseconds, or 0 if none is scheduled */
    struct slice_map slices;
    uint64_t *committed; /* bitmap of slices that were ever used */
    uint64_t *purge;     /* bitmap of slices scheduled for purging */
    uint32_t *block_at;  /* by slice: block that begins there; valid only if free */
    uint32_t *page_at;   /* by slice: page that begins there; valid only if marked */
    struct marks marks[QUEUES];
};

/* Part of the page map, for one range of addresses. */
struct page_map_part {
    uint64_t number; /* index of the range */
    uint64_t address; /* start of the part in the heap */
};

struct mimalloc3 {
    struct mimalloc mi;
    uint64_t base;
    uint64_t hint_delta;
    uint64_t purge_delay;
    uint64_t arena_purge_mult;
    uint64_t purge_decommits;
    uint64_t arena_reserve;
    uint64_t arena_eager_commit;
    uint64_t arena_purge_immediate_size;
    uint64_t purge_unit; /* bytes; a unit is purged only if all its slices are scheduled */
    uint64_t allow_thp;
    uint64_t page_reclaim_on_free; /* enum reclaim_on_free */
    uint64_t page_full_retain;
    uint64_t page_max_candidates;
    uint64_t page_max_reclaim;
    uint64_t page_cross_thread_max_reclaim;
    uint64_t generic_collect;
    uint64_t disallow_arena_alloc;

    struct arena *arenas;
    uint32_t arena_count;
    uint32_t arena_capacity;
    struct page_map_part *parts;
    uint32_t part_count;
    uint32_t part_capacity;
    uint32_t sequences;
    uint64_t identities;
    struct theap *keeper; /* of the threads' records */
    uint64_t expire; /* when an arena may have something to give back; 0: none has */
};

enum reclaim_on_free { RECLAIM_NEVER, RECLAIM_OWN, RECLAIM_ANY };

/* Slices side by side that were got for a page. */
struct run {
    uint64_t start;
    uint64_t absolute;
    uint64_t front;
    uint32_t arena;
    bool is_new; /* they were never used before */
    uint32_t block; /* the block that the slices are; NO_BLOCK if none could be got */
};

/* The order in which a thread looks at the arenas: the latest comes last. */
struct rotation arenas_order(const struct mimalloc3 *state, uint32_t sequence);
/* Gets slices: in an arena, or mapped by themselves. */
struct run arenas_take(struct mimalloc3 *state, uint32_t slices, uint32_t sequence);
struct run arenas_map_page(struct mimalloc3 *state, uint32_t slices, uint64_t alignment);
/* Takes back the slices of a page whose blocks have become one, its base. */
void arenas_give(struct mimalloc3 *state, const struct page *page);
/* Notes where a page is, in the page map and its own header. False, with the heap's failure set, if
 * that cannot be. */
bool arenas_register(struct mimalloc3 *state, const struct page *page);
/* Enters an abandoned page where threads look for one, or takes it out from there, if it is. */
void arenas_mark(struct mimalloc3 *state, uint32_t number);
void arenas_unmark(struct mimalloc3 *state, uint32_t number);
/* An abandoned page of a bin that has room; NO_PAGE: there is none. */
uint32_t arenas_find_marked(const struct mimalloc3 *state, unsigned bin, uint32_t sequence);
/* Gives slices of an arena back, or notes that this is to be done. */
void arenas_purge_later(struct mimalloc3 *state, struct arena *arena, uint32_t index,
                        uint32_t count);
/* Gives back what is due, or with `force` all that waits. */
void arenas_purge(struct mimalloc3 *state, uint32_t sequence, bool force);
void arenas_release(struct mimalloc3 *state);

/* Makes the first page of a queue; `alignment`: of its only block; 0: any. NO_PAGE, with the heap's
 * failure set, if that cannot be. */
uint32_t mi3_page_make(struct mimalloc3 *state, struct theap *theap, uint64_t block_size,
                       uint64_t alignment);
/* Takes a page out of its queue and gives its slices back. */
void mi3_page_free(struct mimalloc *mi, uint32_t number);
/* The largest power of two that divides the address of every block of a size. */
uint64_t natural_alignment(const struct heap *heap, uint64_t block_size);

/* A page of a thread's with a free block; NO_PAGE, with the heap's failure set, if there cannot be
 * one. Adds to `visited` how many pages were looked at. */
uint32_t mi3_find_page(struct mimalloc3 *state, struct theap *theap, uint64_t size,
                       uint64_t alignment, uint64_t *visited);
/* Lets a page have no owner, and marks it if it has room; or frees it. */
void mi3_abandon(struct mimalloc *mi, uint32_t number);
/* Frees, takes over, or marks a page without an owner in which a thread has freed a block. */
void free_abandoned(struct mimalloc3 *state, struct theap *theap, uint32_t number);

#endif
