/* The common part of mimalloc 2 and 3: pages of blocks of one size, their queues for each thread,
 * and the program's calls (policy/families/mimalloc.md). */
#ifndef SIMALLOC_MIMALLOC_H
#define SIMALLOC_MIMALLOC_H

#include "families/family.h"
#include "families/mimalloc/slices.h"
#include "families/mimalloc/sizes.h"
#include "parts/thread_table.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    SMALL_REQUEST = 1024, /* largest request served directly from the first page */
    SINGLES = 57, /* the queue of pages of one block; those below are for a size each */
    FULL,         /* queue of full pages, in mimalloc 2 only */
    QUEUES,
    BLOCKS_AN_EVENT = 32,
    SPAN_QUEUES = 31,
    RECORDS = 2,
    EIGHT = 8, /* bytes written of a block that enters a list, and of an entry of the page map */
};

#define NO_PAGE 0 /* the number of no page */

struct segment;

/* A run of slices for blocks of one size. Lists are chained by `family_data`; an allocated block
 * has its page's number there. After each event (|list| is a list's length):
 *
 *   used + |free| + |local|   == capacity
 *   |remote|                  == remote_count, and is part of `used`
 *   capacity                  <= reserved, and == reserved if and only if rest == NO_BLOCK
 *   is_marked                 only if owner == NULL */
struct page {
    uint64_t start;
    uint64_t absolute; /* start address in the real process */
    uint64_t block_size;
    uint64_t first; /* address of the first block */
    struct theap *owner; /* owner, or NULL */
    uint32_t slices;
    uint32_t base;  /* lowest block */
    uint32_t rest;  /* blocks that never were on a list, as one; or NO_BLOCK */
    uint32_t reserved; /* maximum number of blocks */
    uint32_t capacity; /* number of blocks that were ever on a list */
    uint32_t used;   /* number of blocks that are allocated, or wait for the owner to free them */
    uint32_t free;   /* next block to allocate; or NO_BLOCK, as in the other lists */
    uint32_t local;  /* blocks freed by the owner */
    uint32_t remote; /* blocks freed by others, or by anyone while it had no owner */
    uint32_t remote_count;
    uint32_t next; /* next in the owner's queue, or next unused number */
    uint32_t previous;
    uint8_t bin;
    uint8_t retire; /* collections until the page is freed while empty, or 0 if it is not retired */
    bool is_full; /* true if in the queue of full pages */
    bool has_aligned; /* true if an object may begin inside its block */
    /* Of mimalloc 2: */
    uint8_t delayed; /* enum delayed */
    uint32_t index;  /* number of the first slice */
    struct segment *segment;
    /* Of mimalloc 3: */
    bool is_new; /* true if its slices were never used before and are therefore zero */
    bool is_zero; /* true if the next blocks were never used */
    bool is_marked; /* true if marked as abandoned in its arena */
    uint32_t arena; /* NO_ARENA if mapped directly, from `front` bytes below the start on */
    uint64_t front;
    uint64_t former;  /* identity of the latest owner */
};

struct queue {
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t score; /* mimalloc 3 only: rises when others freed blocks in full pages, else falls */
};

/* The data of a thread. */
struct theap {
    struct queue queues[QUEUES];
    unsigned lowest; /* queues that may have retired pages; none if this is above the highest */
    unsigned highest;
    uint32_t records[RECORDS]; /* blocks or mappings that hold it; NO_BLOCK: none does */
    /* Of mimalloc 2: */
    uint32_t spans[SPAN_QUEUES]; /* free spans by size, the newest first: their places */
    uint32_t segments;
    uint32_t *delayed; /* blocks that others freed, for the thread to free */
    uint32_t delayed_count;
    uint32_t delayed_capacity;
    /* Of mimalloc 3: */
    uint64_t identity; /* a number never used twice; 0: unused */
    uint32_t sequence; /* the thread's number, by first mallocs; the main thread's is 0 */
    uint64_t full_retain; /* number of full pages that a search leaves in their queue */
    uint64_t calls; /* generic mallocs since the last collection */
    uint64_t collected; /* and before that, since the last full one */
    bool is_new; /* its thread, not the main one, has not called malloc yet */
};

struct mimalloc;

/* The functions and constants in which the releases differ. */
struct rules {
    uint64_t largest_small; /* blocks of a page that is retired for `retire_small` */
    uint8_t retire_small;
    uint8_t retire;
    uint32_t retired_pages; /* maximum number of retired pages of a queue, and of those examined */
    uint32_t extended; /* bytes in blocks that are put on the free list together */
    uint32_t min_extended; /* blocks */
    uint64_t origin_unit; /* the real addresses that locations count from are a multiple of it */
    /* Initialises the data of a thread. Sets the heap's failure if that is impossible. */
    void (*begin_thread)(struct mimalloc *mi, struct theap *theap);
    /* Allocates where the first page has no block; NO_BLOCK, with the heap's failure set, if that
     * cannot be. */
    uint32_t (*allocate)(struct mimalloc *mi, struct theap *theap, uint64_t size);
    uint32_t (*allocate_aligned)(struct mimalloc *mi, struct theap *theap, uint64_t size,
                                 uint64_t alignment);
    uint64_t (*rounded)(uint64_t size); /* size of the block for a request */
    /* After the owner's free in a page that is empty now, or was full. */
    void (*after_free)(struct mimalloc *mi, uint32_t number);
    /* Gives a page a block that is not its owner's to free, on behalf of a thread. */
    void (*free_remote)(struct mimalloc *mi, struct theap *theap, uint32_t number, uint32_t id);
    void (*free_page)(struct mimalloc *mi, uint32_t number);
    void (*abandon)(struct mimalloc *mi, uint32_t number);
    void (*end_thread)(struct mimalloc *mi, struct theap *theap);
    void (*give_back)(struct mimalloc *mi, struct theap *theap); /* NULL: no thread's */
    void (*release)(struct mimalloc *mi);
};

/* First member of the state of both. */
struct mimalloc {
    struct heap heap;
    uint64_t tick;
    const struct rules *rules;
    struct page *pages; /* the first one is NO_PAGE */
    uint32_t page_capacity;
    uint32_t page_count;
    uint32_t unused_pages; /* chained by `next` */
    struct thread_table theaps;
    uint64_t hint; /* hint for the next mapping's address in the real process */
    uint64_t origin; /* the address there from which locations count */
    uint64_t committed; /* modulo 2**64 */
    uint64_t calls; /* calls of the program */
    bool is_started; /* the program has called malloc */
    bool has_origin;
};

/* The clock, in milliseconds. */
ALWAYS_INLINE uint64_t clock_of(const struct mimalloc *mi)
{
    uint64_t time = mi->tick > 0 ? mi->calls * mi->tick : mi->heap.request.time;
    return time / 1000000;
}

/* Takes the block that comes next in a page. */
ALWAYS_INLINE uint32_t page_take(struct mimalloc *mi, uint32_t number)
{
    struct heap *heap = &mi->heap;
    struct page *page = &mi->pages[number];
    uint32_t id = page->free;
    page->free = heap->blocks[id].family_data;
    page->used++;
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = number;
    if (heap->request.is_zeroed && !page->is_zero)
        heap_touch(heap, heap->blocks[id].address, page->block_size);
    return id;
}

/* The block that comes next in a thread's first page for a small request; or NO_BLOCK. */
ALWAYS_INLINE uint32_t next_small(const struct mimalloc *mi, const struct theap *theap,
                                  uint64_t size)
{
    uint32_t number = theap->queues[bin_of(size)].first;
    return number == NO_PAGE ? NO_BLOCK : mi->pages[number].free;
}

ALWAYS_INLINE uint32_t allocate_for(struct mimalloc *mi, struct theap *theap, uint64_t size)
{
    if (size <= SMALL_REQUEST && next_small(mi, theap, size) != NO_BLOCK) {
        count_search(&mi->heap, 1);
        return page_take(mi, theap->queues[bin_of(size)].first);
    }
    return mi->rules->allocate(mi, theap, size);
}

/* Frees a block into a page of its owner's. */
ALWAYS_INLINE void page_free_own(struct mimalloc *mi, uint32_t number, uint32_t id)
{
    struct page *page = &mi->pages[number];
    mi->heap.blocks[id].family_data = page->local;
    page->local = id;
    page->used--;
    if (page->used == 0 || UNLIKELY(page->is_full))
        mi->rules->after_free(mi, number);
}

/* An empty heap for a thread; NULL, with the heap's failure set, when memory is exhausted. */
struct theap *theap_make(struct mimalloc *mi);
void theap_release(struct theap *theap);
/* The high end of a block, at a multiple of an alignment; the low end is waste meanwhile. */
uint32_t align_inside(struct mimalloc *mi, uint32_t id, uint64_t alignment);
/* Frees a block on behalf of a thread. */
void free_for(struct mimalloc *mi, struct theap *theap, uint32_t id);
/* Collects all pages of a thread's as they are for the last time, and frees those that are empty;
 * the others are abandoned if the thread ends. */
void collect_finally(struct mimalloc *mi, struct theap *theap, bool ends);
/* Makes an empty heap by some rules; false: no memory. */
bool mimalloc_init(struct mimalloc *mi, const struct rules *rules);
/* The layer for struct family. */
const struct layer *mimalloc_layer(struct heap *heap);
void mimalloc_end_thread(struct heap *heap);
void mimalloc_give_back(struct heap *heap);
void mimalloc_locate(const struct heap *heap, uint32_t id, struct location *location);
void mimalloc_report(const struct heap *heap, uint64_t *figures);
void mimalloc_release(void *memory);
const char *mimalloc_check(const void *memory);
extern const char *const mimalloc_figures[1];

#define MIMALLOC_FAMILY                                                                          \
    PARAMETERS(parameters), .blocks_an_event = BLOCKS_AN_EVENT,                                  \
        .columns = COLUMN_ALIGNMENT | COLUMN_THREAD | COLUMN_TIME,                               \
        .needs_columns_only = true, .writes_itself = true,                                       \
        .end_thread = mimalloc_end_thread, .give_back = mimalloc_give_back,                      \
        FIGURES(mimalloc_figures), .report = mimalloc_report, .locate = mimalloc_locate,         \
        .init = init, .release = mimalloc_release, .next_layer = mimalloc_layer,                 \
        .check = mimalloc_check

/* A number for a page; NO_PAGE, with the heap's failure set, when memory is exhausted. */
uint32_t page_new(struct mimalloc *mi);
/* Cuts the memory in front of a new page's blocks into blocks of a state, and makes the memory
 * behind them waste. */
void page_cut_ends(struct heap *heap, struct page *page, uint32_t front);
/* Puts the next blocks on the free list, which is empty. False, with the heap's failure set, when
 * memory is exhausted. */
bool page_extend(struct mimalloc *mi, uint32_t number);
/* Gives the number of a page back that is no more. */
void page_drop(struct mimalloc *mi, uint32_t number);
/* Lets the blocks that the owner freed come next, if no other does. */
void page_use_local(struct page *page);
/* Collects the blocks that other threads have freed, except the newest if `keep_newest`. */
void page_collect(struct heap *heap, struct page *page, bool keep_newest);
/* Takes over what others freed; the blocks that would have come next come last. */
void page_collect_all(struct heap *heap, struct page *page);

/* Makes a page a thread's, the first or last of its queue. */
void queue_push(struct mimalloc *mi, struct theap *theap, uint32_t number, bool in_front);
/* Takes a page out of its owner's queue; nobody owns it then. */
void queue_remove(struct mimalloc *mi, uint32_t number);
/* Keeps a page that has become empty for a while if its owner has few of its bin; else frees it. */
void retire(struct mimalloc *mi, uint32_t number);
/* Brings the retired pages nearer to their end, or with `force` to it. */
void collect_retired(struct mimalloc *mi, struct theap *theap, bool force);

#endif
