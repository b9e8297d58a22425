/* mimalloc 3: what its parts share (policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC3_H
#define SIMALLOC_MIMALLOC3_H

#include "families/mimalloc/slices.h"
#include "families/mimalloc/sizes.h"
#include "parts/thread_table.h"

enum {
    LARGEST_SMALL = 10 * 1024, /* of blocks in a page of one slice */
    LARGEST_BLOCK = 512 * 1024, /* above this each block has a page of its own, a singleton */
    SMALL_REQUEST = 1024, /* that takes a block of the first page without further ado */
    SINGLETONS = 57, /* the queue of all of them; those below are for a size each */
    QUEUES,
    RECORDS = 2, /* that a thread has of its own */
    PAGE_HEADER = 128,
    EIGHT = 8, /* bytes written of a block that enters a list, and of an entry of the page map */
};

#define NO_PAGE 0 /* the number of no page */
#define NO_ARENA UINT32_MAX
#define MAPPING_ALIGNMENT (256 * MIB)
#define CHUNK_SIZE (CHUNK * SLICE)

struct theap;

/* A run of slices for blocks of one size. Lists are chained by `family_data`; that of an allocated
 * block is its page's number. */
struct page {
    uint64_t start;
    uint64_t absolute; /* where the real one begins */
    uint64_t block_size;
    uint64_t first; /* where the first block begins */
    struct theap *owner; /* NULL: nobody */
    uint64_t former;  /* the identity of the latest owner */
    uint32_t slices;
    uint32_t arena; /* NO_ARENA: mapped by itself, from `front` bytes below the start on */
    uint64_t front;
    uint32_t base;  /* the lowest block */
    uint32_t rest;  /* the blocks that never were on a list, as one; or NO_BLOCK */
    uint32_t reserved; /* how many blocks there is room for */
    uint32_t capacity; /* how many of them were ever on a list */
    uint32_t used;   /* how many are allocated, or wait in `remote` */
    uint32_t free;   /* the block that comes next; or NO_BLOCK, as in the other lists */
    uint32_t local;  /* freed by the owner */
    uint32_t remote; /* freed by others, or by anyone while nobody was the owner */
    uint32_t remote_count;
    uint32_t next; /* in the owner's queue, or of the unused numbers */
    uint32_t previous;
    uint8_t bin;
    uint8_t retire; /* collections of retired pages that an empty one has left; 0: not retired */
    bool is_new; /* its slices were never used before, so they are zero */
    bool is_zero; /* the blocks that come next were never used */
    bool is_marked; /* as abandoned in its arena */
    bool has_aligned; /* an object may lie inside its block */
};

struct queue {
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t score; /* rises when others freed blocks in pages that were found full, else falls */
};

/* What a thread has for itself. */
struct theap {
    struct queue queues[QUEUES];
    uint64_t identity; /* that no other has or had; 0 is nobody's */
    uint32_t sequence; /* the thread's number, by first mallocs; the main thread's is 0 */
    uint64_t full_retain; /* how many full pages a search leaves in their queue */
    uint64_t calls; /* generic mallocs since the last collection */
    uint64_t collected; /* and before that, since the last full one */
    unsigned lowest; /* queues that may have retired pages; none if this is above the highest */
    unsigned highest;
    uint32_t records[RECORDS];
    bool is_new; /* malloc was not called yet */
};

/* The abandoned pages of an arena with room for blocks of one size, as bits by their slices. */
struct marks {
    uint64_t *bits; /* NULL: there never was one */
    uint32_t count;
};

struct arena {
    uint64_t start;
    uint64_t absolute;
    uint64_t size;
    uint64_t expire; /* when something is to be given back, in milliseconds; 0: nothing is */
    struct slice_map slices;
    uint64_t *committed; /* slices that were ever used, as bits */
    uint64_t *purge;     /* slices that are to be given back, as bits */
    uint32_t *block_at;  /* by slice, the block that begins there, if it is free slices */
    uint32_t *page_at;   /* by slice, the page that begins there, if it is marked */
    struct marks marks[QUEUES];
};

struct page_map_part {
    uint64_t number; /* of the range of addresses that it is for */
    uint64_t address;
};

struct mimalloc3 {
    struct heap heap;
    uint64_t base;
    uint64_t hint_delta;
    uint64_t tick;
    uint64_t purge_delay;
    uint64_t arena_purge_mult;
    uint64_t purge_decommits;
    uint64_t arena_reserve;
    uint64_t arena_eager_commit;
    uint64_t arena_purge_immediate_size;
    uint64_t purge_unit; /* bytes; only what is to be given back whole is given back */
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
    struct page *pages; /* the first one is NO_PAGE */
    uint32_t page_capacity;
    uint32_t page_count;
    uint32_t unused_pages; /* chained by `next` */
    struct page_map_part *parts;
    uint32_t part_count;
    struct thread_table theaps; /* what each thread has */
    uint32_t sequences;
    uint64_t identities;
    struct theap *keeper; /* of the threads' records */
    uint64_t hint; /* where the next mapping may begin in the real process */
    uint64_t expire; /* when an arena may have something to give back; 0: none has */
    int64_t committed;
    uint64_t calls; /* of the program */
    bool is_started; /* the program has called malloc */
};

enum reclaim_on_free { RECLAIM_NEVER, RECLAIM_OWN, RECLAIM_ANY };

/* Slices side by side that were got for a page. */
struct run {
    uint64_t start;
    uint64_t absolute;
    uint64_t front;
    uint32_t arena;
    bool is_new; /* they were never used before */
    uint32_t block; /* that they are; NO_BLOCK: there are none, and the heap has failed */
};

ALWAYS_INLINE uint64_t now(const struct mimalloc3 *state)
{
    uint64_t time = state->tick > 0 ? state->calls * state->tick : state->heap.request.time;
    return time / 1000000;
}

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
void mi3_page_free(struct mimalloc3 *state, uint32_t number);
/* Puts the next blocks on the free list, which is empty. False, with the heap's failure set, when
 * memory is exhausted. */
bool mi3_page_extend(struct mimalloc3 *state, uint32_t number);
/* Lets the blocks that the owner freed come next, if no other does. */
void page_use_local(struct page *page);
/* Takes over what others freed, but for the newest block if that is kept. */
void mi3_page_collect(struct heap *heap, struct page *page, bool keep_newest);
/* Takes over what others freed; the blocks that would have come next come last. */
void mi3_page_collect_all(struct heap *heap, struct page *page);
/* Says what is wrong with a page, or NULL. */
const char *mi3_page_check(const struct heap *heap, const struct page *page);
/* What divides the addresses of all blocks of a size. */
uint64_t natural_alignment(const struct mimalloc3 *state, uint64_t block_size);

/* Makes a page a thread's, the first or last of its queue. */
void mi3_queue_push(struct mimalloc3 *state, struct theap *theap, uint32_t number, bool in_front);
/* Takes a page out of its owner's queue; nobody owns it then. */
void mi3_queue_remove(struct mimalloc3 *state, uint32_t number);

/* A page of a thread's with a free block; NO_PAGE, with the heap's failure set, if there cannot be
 * one. Adds to `visited` how many pages were looked at. */
uint32_t mi3_find_page(struct mimalloc3 *state, struct theap *theap, uint64_t size,
                       uint64_t alignment, uint64_t *visited);
/* Lets a page have no owner, and marks it if it has room; or frees it. */
void mi3_abandon(struct mimalloc3 *state, uint32_t number);
/* Keeps a page that has become empty for a while if its owner has few of its bin; else frees it. */
void retire(struct mimalloc3 *state, uint32_t number);
/* Brings the retired pages nearer to their end, or with `force` to it. */
void mi3_collect_retired(struct mimalloc3 *state, struct theap *theap, bool force);
/* Frees, takes over, or marks a page without an owner in which a thread has freed a block. */
void free_abandoned(struct mimalloc3 *state, struct theap *theap, uint32_t number);

#endif
