/* mimalloc 2: what its parts share (policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC2_H
#define SIMALLOC_MIMALLOC2_H

#include "families/mimalloc/slices.h"
#include "families/mimalloc/sizes.h"
#include "parts/thread_table.h"

enum {
    SLICES = 512, /* of a segment */
    SPAN_QUEUES = 31,
    SINGLES = 49, /* the queue of pages of one block; those below are for a size each */
    FULL,         /* that of full pages */
    QUEUES,
    KEPT_SEGMENTS = 1024,
    LARGEST_SMALL = 16 * 1024, /* of blocks in a page of one slice */
    LARGEST_MEDIUM = 128 * 1024, /* above this each block has a page of its own */
    SMALL_REQUEST = 1024, /* that takes a block of the first page without further ado */
    EIGHT = 8, /* bytes written of a block that enters a list */
};

#define SEGMENT (SLICES * SLICE)
#define LARGEST_IN_SEGMENT (16 * MIB) /* above this each block has a segment of its own */
#define NO_PAGE 0 /* the number of no page */
#define NO_SPAN 0 /* the place of no span */

struct segment;

/* What another thread does with a block of a page that it frees. */
enum delayed {
    TELLS_OWNER, /* by its list, once */
    TELLS_PAGE,  /* by the page's own list */
    NEVER_TELLS_OWNER,
};

/* A span of slices for blocks of one size. Lists are chained by `family_data`; that of an allocated
 * block is its page's number. */
struct page {
    struct segment *segment;
    struct theap *owner; /* NULL: nobody */
    uint64_t block_size;
    uint64_t first; /* where the first block begins */
    uint32_t index; /* of its first slice */
    uint32_t slices;
    uint32_t base;  /* the lowest block */
    uint32_t rest;  /* the blocks that never were on a list, as one; or NO_BLOCK */
    uint32_t reserved; /* how many blocks there is room for */
    uint32_t capacity; /* how many of them were ever on a list */
    uint32_t used;   /* how many are allocated, or wait for the owner to free them */
    uint32_t free;   /* the block that comes next; or NO_BLOCK, as in the other lists */
    uint32_t local;  /* freed by the owner */
    uint32_t remote; /* freed by others */
    uint32_t remote_count;
    uint32_t next; /* in the owner's queue, or of the unused numbers */
    uint32_t previous;
    uint8_t bin;
    uint8_t retire; /* collections of retired pages that an empty one has left; 0: not retired */
    uint8_t delayed; /* enum delayed */
    bool is_full;     /* it is in the queue of full pages */
    bool has_aligned; /* an object may lie inside its block */
};

struct queue {
    uint32_t first;
    uint32_t last;
};

/* What a thread has for itself. */
struct theap {
    struct queue queues[QUEUES];
    uint32_t spans[SPAN_QUEUES]; /* free spans by size, the newest first: their places */
    uint32_t segments;
    unsigned lowest; /* queues that may have retired pages; none if this is above the highest */
    unsigned highest;
    uint32_t *delayed; /* blocks that others freed, for the thread to free */
    uint32_t delayed_count;
    uint32_t delayed_capacity;
    uint32_t record; /* the mapping that holds it; NO_BLOCK: it is part of the program */
};

/* A run of slices that is a page, or free. Its place is SLICES times its segment's number, plus its
 * first slice. */
struct span {
    uint32_t count;
    uint32_t page; /* NO_PAGE: it is free */
    uint32_t block; /* that it is, if it is free */
    uint32_t next; /* in its queue, if it is free and its segment has an owner */
    uint32_t previous;
};

struct segment {
    uint64_t start;
    uint64_t relative; /* where the real one begins, from the first one on */
    uint64_t size;
    uint64_t expire; /* when what waits is to be decommitted, in milliseconds; 0: at once */
    uint64_t committed[WORDS_OF_CHUNK]; /* slices, as bits */
    uint64_t waiting[WORDS_OF_CHUNK];   /* slices to be decommitted, as bits */
    struct theap *owner; /* NULL: nobody */
    struct segment *next; /* of those that nobody owns */
    uint32_t number;
    uint32_t header;    /* the block that its header is; or NO_BLOCK */
    uint32_t used;      /* spans that are pages */
    uint32_t abandoned; /* pages that nobody owns */
    uint32_t visits;    /* since nobody owns it */
    bool is_huge;       /* it is for one block only */
    struct span spans[SLICES];
    uint16_t first_of[SLICES]; /* by a span's last slice, its first one */
};

struct kept {
    struct segment *segment;
    uint64_t expire; /* when it is to be decommitted; 0: never */
};

struct mimalloc2 {
    struct heap heap;
    uint64_t tick;
    uint64_t decommit_delay;
    uint64_t decommit_extend_delay;
    uint64_t segment_decommit_delay;
    uint64_t allow_decommit;
    uint64_t eager_commit;
    uint64_t eager_commit_delay;

    struct page *pages; /* the first one is NO_PAGE */
    uint32_t page_capacity;
    uint32_t page_count;
    uint32_t unused_pages; /* chained by `next` */
    struct segment **segments; /* by number; the first one is none */
    uint32_t segment_count;
    uint32_t first; /* slice that a span may have; those below it are a header */
    struct kept kept[KEPT_SEGMENTS];
    uint64_t filled[KEPT_SEGMENTS / 64]; /* those that are in use, as bits */
    struct segment *left;    /* by threads that have ended, to be looked at */
    struct segment *visited; /* that were looked at since */
    struct thread_table theaps;
    uint32_t threads; /* that have something for themselves */
    uint32_t records[8]; /* of threads that have ended */
    uint32_t record_count;
    uint64_t hint; /* where the next mapping begins in the real process */
    uint64_t origin; /* the segment of the program's first object */
    uint64_t committed;
    uint64_t calls; /* of the program */
    bool is_started; /* the program has called malloc */
    bool has_origin;
};

ALWAYS_INLINE uint64_t clock_of(const struct mimalloc2 *state)
{
    uint64_t time = state->tick > 0 ? state->calls * state->tick : state->heap.request.time;
    return time / 1000000;
}

ALWAYS_INLINE struct span *span_at(const struct mimalloc2 *state, uint32_t place)
{
    return &state->segments[place / SLICES]->spans[place % SLICES];
}

/* A segment for a thread, all of it one free span in its queue; NULL, with the heap's failure set,
 * if that cannot be. */
struct segment *segment_take(struct mimalloc2 *state, struct theap *theap);
/* The same for one block of `size` bytes: its span is in no queue. */
struct segment *segment_take_huge(struct mimalloc2 *state, struct theap *theap, uint64_t size);
/* Keeps a segment without pages, or unmaps it. */
void segment_give(struct mimalloc2 *state, struct segment *segment);
/* Decommits segments that have been kept for long, of a few slots or with `force` of all. */
void segments_purge(struct mimalloc2 *state, bool force);
/* Commits slices that are used now, in whole units; they wait no longer. */
void segment_use(struct mimalloc2 *state, struct segment *segment, uint32_t index, uint32_t count);
/* Decommits slices that have become free, or lets them wait for it. */
void segment_leave(struct mimalloc2 *state, struct segment *segment, uint32_t index,
                   uint32_t count);
/* Decommits what waits in a segment, if that is due. */
void segment_decommit_due(struct mimalloc2 *state, struct segment *segment, bool force);
void segments_release(struct mimalloc2 *state);

/* The place of a free span of a thread's with at least `count` slices; NO_SPAN: there is none. */
uint32_t span_find(const struct mimalloc2 *state, const struct theap *theap, uint32_t count);
/* Takes the low end of a free span out of its queue. */
void span_take(struct mimalloc2 *state, uint32_t place, uint32_t count);
/* Makes a span free, one with its free neighbours; returns its first slice. */
uint32_t span_free(struct mimalloc2 *state, struct segment *segment, uint32_t index);
/* Enters a free span in the queues of its segment's owner, or takes it out. */
void span_enter(struct mimalloc2 *state, struct segment *segment, uint32_t index);
void span_leave(struct mimalloc2 *state, struct segment *segment, uint32_t index);
/* Makes a span of some slices. */
void span_set(struct mimalloc2 *state, struct segment *segment, uint32_t index, struct span span);

/* Makes a page of a span that is in no queue, the first of its own; NO_PAGE, with the heap's
 * failure set, if that cannot be. */
uint32_t mi2_page_make(struct mimalloc2 *state, struct theap *theap, struct segment *segment,
                   uint32_t index, uint64_t block_size);
/* Makes a page of nobody's a free span; returns its first slice. */
uint32_t page_clear(struct mimalloc2 *state, uint32_t number);
/* Puts the next blocks on the free list, which is empty. False, with the heap's failure set, when
 * memory is exhausted. */
bool mi2_page_extend(struct mimalloc2 *state, uint32_t number);
/* Takes over what others freed. */
void mi2_page_collect(struct heap *heap, struct page *page);
/* Takes over what others freed; the blocks that would have come next come last. */
void mi2_page_collect_all(struct heap *heap, struct page *page);
const char *mi2_page_check(const struct heap *heap, const struct page *page);

/* Makes a page a thread's, the first or last of its queue; takes it out of there. */
void mi2_queue_push(struct mimalloc2 *state, struct theap *theap, uint32_t number, bool in_front);
void mi2_queue_remove(struct mimalloc2 *state, uint32_t number);
/* A thread's page with a free block for a request; NO_PAGE, with the heap's failure set, if there
 * cannot be one. Adds to `visited` how many pages were looked at. */
uint32_t mi2_find_page(struct mimalloc2 *state, struct theap *theap, uint64_t size,
                       uint64_t *visited);
/* Frees a block into a page of its owner's. */
void free_own(struct mimalloc2 *state, uint32_t number, uint32_t id);
/* Gives the span of an empty page back, and its segment if that has no other page. */
void mi2_page_free(struct mimalloc2 *state, uint32_t number);
/* Brings the retired pages nearer to their end, or with `force` to it. */
void mi2_collect_retired(struct mimalloc2 *state, struct theap *theap, bool force);

/* Gives a segment without pages back on behalf of its owner. */
void segment_leave_owner(struct mimalloc2 *state, struct segment *segment);
/* Lets nobody own a page, and its segment if somebody owns none of its pages. */
void mi2_abandon(struct mimalloc2 *state, uint32_t number);
void abandon_segment(struct mimalloc2 *state, struct segment *segment);
/* Frees the empty pages of abandoned segments, and segments without others. */
void collect_abandoned(struct mimalloc2 *state, struct theap *theap, bool force);

enum reclaimed { NOTHING, A_SPAN, A_PAGE };

/* Takes over an abandoned segment that has a page for blocks of a size with room, or a free span
 * for one; says which. */
enum reclaimed reclaim(struct mimalloc2 *state, struct theap *theap, uint64_t block_size,
                       uint32_t slices);

#endif
