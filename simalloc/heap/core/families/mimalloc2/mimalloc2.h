/* mimalloc 2: what its parts share (policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC2_H
#define SIMALLOC_MIMALLOC2_H

#include "families/mimalloc/mimalloc.h"

enum {
    SLICES = 512, /* of a segment */
    KEPT_SEGMENTS = 1024,
    MOST_RESERVED = 64, /* segments; in more the library looks for room in another order */
    LARGEST_SMALL = 16 * 1024, /* of blocks in a page of one slice */
    LARGEST_MEDIUM = 128 * 1024, /* above this each block has a page of its own */
};

#define SEGMENT (SLICES * SLICE)
#define LARGEST_IN_SEGMENT (16 * MIB) /* above this each block has a segment of its own */
#define NO_SPAN 0 /* the place of no span */

/* What another thread does with a block of a page that it frees. */
enum delayed {
    TELLS_OWNER, /* by its list, once */
    TELLS_PAGE,  /* by the page's own list */
    NEVER_TELLS_OWNER,
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
    bool is_reserved;   /* it is in the reserve, where everything stays committed */
    struct span spans[SLICES];
    uint16_t first_of[SLICES]; /* by a span's last slice, its first one */
};

struct kept {
    struct segment *segment;
    uint64_t expire; /* when it is to be decommitted; 0: never */
};

/* What is reserved at the start, in parts of a segment's size. */
struct reserve {
    uint64_t start;
    uint64_t count;     /* 0: nothing is mapped yet */
    uint64_t used;      /* parts, as bits */
    uint64_t ever_used; /* the same */
    uint32_t block_at[MOST_RESERVED]; /* that begins at a part, if it is free parts */
};

struct mimalloc2 {
    struct mimalloc mi;
    uint64_t decommit_delay;
    uint64_t decommit_extend_delay;
    uint64_t segment_decommit_delay;
    uint64_t allow_decommit;
    uint64_t eager_commit;
    uint64_t eager_commit_delay;
    uint64_t reserve_os_memory;

    struct reserve reserve;
    struct segment **segments; /* by number; the first one is none */
    uint32_t segment_count;
    uint32_t segment_capacity;
    uint32_t first; /* slice that a span may have; those below it are a header */
    struct kept kept[KEPT_SEGMENTS];
    uint64_t filled[KEPT_SEGMENTS / 64]; /* those that are in use, as bits */
    struct segment *left;    /* by threads that have ended, to be looked at */
    struct segment *visited; /* that were looked at since */
    uint32_t threads; /* that have something for themselves */
    uint32_t records[8]; /* of threads that have ended */
    uint32_t record_count;
};

ALWAYS_INLINE struct span *span_at(const struct mimalloc2 *state, uint32_t place)
{
    return &state->segments[place / SLICES]->spans[place % SLICES];
}

/* The lowest free parts of the reserve for `size` bytes, which are used now, and whether any was used
 * before; NO_BLOCK: there are none, or the heap has failed. */
uint32_t reserve_take(struct mimalloc2 *state, uint64_t size, bool *was_used);
/* Frees parts that have become one block. */
void reserve_give(struct mimalloc2 *state, uint32_t id);

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
void segments_release(struct mimalloc *mi);

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
/* A thread's page with a free block for a request; NO_PAGE, with the heap's failure set, if there
 * cannot be one. Adds to `visited` how many pages were looked at. */
uint32_t mi2_find_page(struct mimalloc2 *state, struct theap *theap, uint64_t size,
                       uint64_t *visited);
/* What struct rules has: keeps an empty page for a while, or lets one that was full be found. */
void mi2_after_free(struct mimalloc *mi, uint32_t number);
/* Gives the span of an empty page back, and its segment if that has no other page. */
void mi2_page_free(struct mimalloc *mi, uint32_t number);

/* Gives a segment without pages back on behalf of its owner. */
void segment_leave_owner(struct mimalloc2 *state, struct segment *segment);
/* Lets nobody own a page, and its segment if somebody owns none of its pages. */
void mi2_abandon(struct mimalloc *mi, uint32_t number);
void abandon_segment(struct mimalloc2 *state, struct segment *segment);
/* Frees the empty pages of abandoned segments, and segments without others. */
void collect_abandoned(struct mimalloc2 *state, struct theap *theap, bool force);

enum reclaimed { NOTHING, A_SPAN, A_PAGE };

/* Takes over an abandoned segment that has a page for blocks of a size with room, or a free span
 * for one; says which. */
enum reclaimed reclaim(struct mimalloc2 *state, struct theap *theap, uint64_t block_size,
                       uint32_t slices);

#endif
