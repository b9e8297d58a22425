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
    uint64_t purge_unit; /* bytes of a unit, which is purged only if all its slices are scheduled */
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
    struct theap *keeper; /* owner of the threads' records */
    uint64_t expire; /* no purge is due before this time in milliseconds; 0 if none is scheduled */
};

enum reclaim_on_free { RECLAIM_NEVER, RECLAIM_OWN, RECLAIM_ANY };

/* Consecutive slices allocated for a page. */
struct run {
    uint64_t start;
    uint64_t absolute;
    uint64_t front;
    uint32_t arena;
    bool is_new; /* true if no slice was used before */
    uint32_t block; /* block that holds these slices, or NO_BLOCK after a failed allocation */
};

/* Returns the order in which a thread searches the arenas: all but the newest, rotated by
 * `sequence`, then the newest. */
struct rotation arenas_order(const struct mimalloc3 *state, uint32_t sequence);
/* Allocates slices in an arena or, if no arena can hold them, maps them directly. */
struct run arenas_take(struct mimalloc3 *state, uint32_t slices, uint32_t sequence);
struct run arenas_map_page(struct mimalloc3 *state, uint32_t slices, uint64_t alignment);
/* Frees the slices of a page. All blocks of the page must have been joined into page->base. */
void arenas_give(struct mimalloc3 *state, const struct page *page);
/* Writes a page's header and its entries in the page map. Returns false, with the heap's failure
 * set, if the page map cannot be extended. */
bool arenas_register(struct mimalloc3 *state, const struct page *page);
/* Marks an abandoned page with free blocks, so that arenas_find_marked() can return it.
 * arenas_unmark() clears the mark, if any. */
void arenas_mark(struct mimalloc3 *state, uint32_t number);
void arenas_unmark(struct mimalloc3 *state, uint32_t number);
/* Returns a marked page of a bin, or NO_PAGE. */
uint32_t arenas_find_marked(const struct mimalloc3 *state, unsigned bin, uint32_t sequence);
/* Schedules freed slices for purging. Purges them at once if the delay is 0 or if they have at
 * least `arena_purge_immediate_size` bytes. */
void arenas_purge_later(struct mimalloc3 *state, struct arena *arena, uint32_t index,
                        uint32_t count);
/* Purges scheduled slices: all with `force`; otherwise those whose delay has expired, in at most
 * arena_count / 4 + 1 arenas per call. */
void arenas_purge(struct mimalloc3 *state, uint32_t sequence, bool force);
void arenas_release(struct mimalloc3 *state);

/* Adds a page at the front of a queue. `alignment` applies to a page with one block; 0 means any.
 * Returns NO_PAGE, with the heap's failure set, if no page can be allocated. */
uint32_t mi3_page_make(struct mimalloc3 *state, struct theap *theap, uint64_t block_size,
                       uint64_t alignment);
/* Removes a page from its queue, if it has an owner, and frees its slices. */
void mi3_page_free(struct mimalloc *mi, uint32_t number);
/* Returns the largest power of two that divides the address of every block of a size. */
uint64_t natural_alignment(const struct heap *heap, uint64_t block_size);

/* Returns a page of the thread with a free block for a request: from its queue, reclaimed, or new.
 * Adds the number of visited pages to `visited`. Returns NO_PAGE, with the heap's failure set, if
 * no page can be allocated. */
uint32_t mi3_find_page(struct mimalloc3 *state, struct theap *theap, uint64_t size,
                       uint64_t alignment, uint64_t *visited);
/* Removes a page from its owner. Frees it if it is empty, and marks it if it has free blocks and is
 * in an arena. */
void mi3_abandon(struct mimalloc *mi, uint32_t number);
/* Handles a free in an abandoned page. Frees the page if it is empty. Otherwise, if the rules allow
 * it, the freeing thread reclaims the page, or the page is marked. */
void free_abandoned(struct mimalloc3 *state, struct theap *theap, uint32_t number);

#endif
