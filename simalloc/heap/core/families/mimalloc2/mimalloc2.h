/* Declarations shared by the parts of the mimalloc 2 model (rules: policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC2_H
#define SIMALLOC_MIMALLOC2_H

#include "families/mimalloc/mimalloc.h"

enum {
    SLICES = 512, /* slices of a segment */
    KEPT_SEGMENTS = 1024,
    /* maximum number of segments; the library searches a larger reserve in another order */
    MAX_RESERVED = 64,
    LARGEST_SMALL = 16 * 1024, /* largest block in a page of one slice */
    LARGEST_MEDIUM = 128 * 1024, /* larger blocks get a page each */
};

#define SEGMENT (SLICES * SLICE)
#define LARGEST_IN_SEGMENT (16 * MIB) /* larger blocks get a segment each */
#define NO_SPAN 0 /* place that stands for "no span" */

/* The list to which a free by another thread adds the block of a page. */
enum delayed {
    NOTIFIES_OWNER, /* the owner's list, for the next free only */
    NOTIFIES_PAGE,  /* the page's own list */
    NEVER_NOTIFIES_OWNER,
};

/* A run of slices that is a page or free. The place of a span is SLICES * segment number + first
 * slice. */
struct span {
    uint32_t count;
    uint32_t page; /* page in the span, or NO_PAGE if the span is free */
    uint32_t block; /* block of a free span */
    uint32_t next; /* next in the queue; valid if free and the segment has an owner */
    uint32_t previous;
};

struct segment {
    uint64_t start;
    uint64_t relative; /* start address in the real process, relative to the first segment */
    uint64_t size;
    uint64_t expire; /* time of the next decommit in milliseconds, or 0 for at once */
    uint64_t committed[WORDS_OF_CHUNK]; /* bitmap of committed slices */
    uint64_t waiting[WORDS_OF_CHUNK];   /* bitmap of slices scheduled for decommitting */
    struct theap *owner;                /* owner, or NULL */
    struct segment *next;               /* next segment in the list of abandoned segments */
    uint32_t number;
    uint32_t header;    /* block of its header, or NO_BLOCK */
    uint32_t used;      /* number of spans that are pages */
    uint32_t abandoned; /* number of pages without an owner */
    uint32_t visits;    /* visits since it was abandoned */
    bool is_huge;       /* true if it has only one block */
    bool is_reserved;   /* true if it is in the reserve, which always stays committed */
    struct span spans[SLICES];
    uint16_t first_of[SLICES]; /* by last slice of a span: its first slice */
};

struct kept {
    struct segment *segment;
    uint64_t expire; /* time of its decommit, or 0 for never */
};

/* Memory reserved at the start. Each part has the size of a segment. */
struct reserve {
    uint64_t start;
    uint64_t count;     /* number of parts; 0 before it is mapped */
    uint64_t used;      /* bitmap of parts in use */
    uint64_t ever_used; /* bitmap of parts that were ever used */
    uint32_t block_at[MAX_RESERVED]; /* by part: block of free parts that begins there */
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
    struct segment **segments; /* by number, from 1 on */
    uint32_t segment_count;
    uint32_t segment_capacity;
    uint32_t first; /* first slice after a segment's header */
    struct kept kept[KEPT_SEGMENTS];
    uint64_t filled[KEPT_SEGMENTS / 64]; /* bitmap of used entries of `kept` */
    struct segment *left;                /* abandoned segments to visit */
    struct segment *visited;             /* abandoned segments already visited */
    uint32_t threads;                    /* number of running threads */
    uint32_t records[8];                 /* cached blocks with the data of ended threads */
    uint32_t record_count;
};

ALWAYS_INLINE struct span *span_at(const struct mimalloc2 *state, uint32_t place)
{
    return &state->segments[place / SLICES]->spans[place % SLICES];
}

/* Allocates the lowest free parts of the reserve for `size` bytes, and stores whether any was used
 * before. Returns NO_BLOCK if no parts fit, or after a failure of the heap. */
uint32_t reserve_take(struct mimalloc2 *state, uint64_t size, bool *was_used);
/* Frees parts, which must have been joined into one block. */
void reserve_give(struct mimalloc2 *state, uint32_t id);

/* Returns a segment whose free span is in the thread's queue. Returns NULL, with the heap's failure
 * set, if no segment can be allocated. */
struct segment *segment_take(struct mimalloc2 *state, struct theap *theap);
/* Returns a segment for one block of `size` bytes. Its span is in no queue. Returns NULL, with the
 * heap's failure set, if no segment can be allocated. */
struct segment *segment_take_huge(struct mimalloc2 *state, struct theap *theap, uint64_t size);
/* Caches a segment without pages, or unmaps it. */
void segment_give(struct mimalloc2 *state, struct segment *segment);
/* Decommits the cached segments that are due. Searches a few slots, or all slots with `force`. */
void segments_purge(struct mimalloc2 *state, bool force);
/* Commits slices in whole units and cancels their scheduled decommit. */
void segment_use(struct mimalloc2 *state, struct segment *segment, uint32_t index, uint32_t count);
/* Decommits freed slices, or schedules them for decommitting. */
void segment_leave(struct mimalloc2 *state, struct segment *segment, uint32_t index,
                   uint32_t count);
/* Decommits the scheduled slices of a segment if they are due, or in any case with `force`. */
void segment_decommit_due(struct mimalloc2 *state, struct segment *segment, bool force);
void segments_release(struct mimalloc *mi);

/* Returns the place of a thread's free span with at least `count` slices, or NO_SPAN. */
uint32_t span_find(const struct mimalloc2 *state, const struct theap *theap, uint32_t count);
/* Removes a free span from its queue and splits it after `count` slices. The high part stays
 * free. */
void span_take(struct mimalloc2 *state, uint32_t place, uint32_t count);
/* Frees a span and merges it with its free neighbours. Returns its first slice. */
uint32_t span_free(struct mimalloc2 *state, struct segment *segment, uint32_t index);
/* Adds a free span to the queues of its segment's owner, or removes it. */
void span_enter(struct mimalloc2 *state, struct segment *segment, uint32_t index);
void span_leave(struct mimalloc2 *state, struct segment *segment, uint32_t index);
/* Writes a span that begins at slice `index`, and its records in the segment's header. */
void span_set(struct mimalloc2 *state, struct segment *segment, uint32_t index, struct span span);

/* Makes a page of a span that is in no queue, and adds it to the front of the queue of its bin.
 * Returns NO_PAGE, with the heap's failure set, if no page can be made. */
uint32_t mi2_page_make(struct mimalloc2 *state, struct theap *theap, struct segment *segment,
                       uint32_t index, uint64_t block_size);
/* Turns an abandoned page into a free span. Returns its first slice. */
uint32_t page_clear(struct mimalloc2 *state, uint32_t number);
/* Returns a page of the thread with a free block for a request. Adds the number of visited pages to
 * `visited`. Returns NO_PAGE, with the heap's failure set, if no page can be allocated. */
uint32_t mi2_find_page(struct mimalloc2 *state, struct theap *theap, uint64_t size,
                       uint64_t *visited);
/* Implements `after_free` of struct rules: retires or frees an empty page, or returns a full page
 * to the queue of its bin. */
void mi2_after_free(struct mimalloc *mi, uint32_t number);
/* Frees the span of an empty page, and its segment if it was the last page. */
void mi2_page_free(struct mimalloc *mi, uint32_t number);

/* Frees a segment that has no pages, on behalf of its owner. */
void segment_leave_owner(struct mimalloc2 *state, struct segment *segment);
/* Abandons a page. Abandons its segment too if all pages of the segment are then abandoned. */
void mi2_abandon(struct mimalloc *mi, uint32_t number);
void abandon_segment(struct mimalloc2 *state, struct segment *segment);
/* Frees the empty pages of abandoned segments, and the segments that then have no pages. */
void collect_abandoned(struct mimalloc2 *state, struct theap *theap, bool force);

enum reclaimed { NOTHING, A_SPAN, A_PAGE };

/* Reclaims an abandoned segment that has a page with a free block of a size, or a free span for
 * such a page. Returns which of the two the segment has. */
enum reclaimed reclaim(struct mimalloc2 *state, struct theap *theap, uint64_t block_size,
                       uint32_t slices);

#endif
