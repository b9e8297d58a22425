/* The common part of mimalloc 2 and 3 (policy/families/mimalloc.md): pages with blocks of one size,
 * the page queues of each thread, and the program's calls. */
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
    SINGLES = 57, /* queue of pages with one block; each lower queue is for one block size */
    FULL,         /* queue of full pages, in mimalloc 2 only */
    QUEUES,
    BLOCKS_AN_EVENT = 32,
    SPAN_QUEUES = 31,
    RECORDS = 2,
    EIGHT = 8, /* bytes written to a block that enters a list, and to an entry of the page map */
};

#define NO_PAGE 0 /* number that stands for "no page" */

struct segment;

/* A run of slices for blocks of one size. `family_data` links the blocks of a list, and is
 * the page number of an allocated block. After each event (|list| is a list's length):
 *
 *   used + |free| + |local|   == capacity
 *   |remote|                  == remote_count, and is part of `used`
 *   capacity                  <= reserved, and == reserved if and only if rest == NO_BLOCK
 *   is_marked                 only if owner == NULL */
struct page {
    uint64_t start;
    uint64_t absolute; /* start address in the real process */
    uint64_t block_size;
    uint64_t first;      /* address of the first block */
    struct theap *owner; /* owning thread, or NULL */
    uint32_t slices;
    uint32_t base;     /* lowest block in the heap */
    uint32_t rest;     /* block of the memory that was never on a list, or NO_BLOCK */
    uint32_t reserved; /* maximum number of blocks */
    uint32_t capacity; /* number of blocks that were ever on a list */
    uint32_t used;     /* number of blocks that are allocated or that wait on `remote` */
    uint32_t free;     /* head of the list of blocks to allocate, or NO_BLOCK */
    uint32_t local;    /* head of the list of blocks freed by the owner */
    /* head of the list of blocks freed by other threads, or while the page had no owner */
    uint32_t remote;
    uint32_t remote_count;
    uint32_t next; /* next page in the owner's queue, or next unused number */
    uint32_t previous;
    uint8_t bin;
    /* number of collections before the empty page is freed, or 0 if it is not retired */
    uint8_t retire;
    bool is_full; /* true if in the queue of full pages */
    bool has_aligned; /* true if an object may begin inside its block */
    /* mimalloc 2 only: */
    uint8_t delayed; /* enum delayed */
    uint32_t index;  /* number of the first slice */
    struct segment *segment;
    /* mimalloc 3 only: */
    bool is_new;    /* true if its slices were never used before and are therefore zero */
    bool is_zero;   /* true if the next blocks were never used */
    bool is_marked; /* true if marked as abandoned in its arena */
    uint32_t arena; /* number of its arena, or NO_ARENA if mapped directly */
    uint64_t front;
    uint64_t former;  /* identity of the latest owner */
};

struct queue {
    uint32_t first;
    uint32_t last;
    uint32_t count;
    /* mimalloc 3 only: score that rises if other threads freed blocks in full pages, else falls */
    uint32_t score;
};

/* The data of one thread. */
struct theap {
    struct queue queues[QUEUES];
    /* lowest and highest queue that may have retired pages; none if lowest > highest */
    unsigned lowest;
    unsigned highest;
    uint32_t records[RECORDS]; /* blocks or mappings that hold the thread's records, or NO_BLOCK */
    /* mimalloc 2 only: */
    uint32_t spans[SPAN_QUEUES]; /* by size: place of the newest free span */
    uint32_t segments;
    uint32_t *delayed; /* blocks that other threads freed and this thread has to free */
    uint32_t delayed_count;
    uint32_t delayed_capacity;
    /* mimalloc 3 only: */
    uint64_t identity; /* number of the thread state, never reused; 0 before its first use */
    /* number of the thread in the order of first mallocs; 0 for the main thread */
    uint32_t sequence;
    uint64_t full_retain; /* number of full pages that a search leaves in their queue */
    uint64_t calls;       /* generic mallocs since the last collection of retired pages */
    uint64_t collected;   /* earlier generic mallocs since the last full collection */
    bool is_new;          /* true for a thread other than the main thread before its first malloc */
};

struct mimalloc;

/* The functions and constants in which the releases differ. */
struct rules {
    /* largest block of a page that is retired for `retire_small` collections */
    uint64_t largest_small;
    uint8_t retire_small;
    uint8_t retire;
    /* maximum number of retired pages in a queue, and of pages that a collection visits */
    uint32_t retired_pages;
    uint32_t extended;     /* bytes of blocks that enter the free list together */
    uint32_t min_extended; /* minimum number of blocks that enter the free list together */
    uint64_t origin_unit;  /* alignment in bytes of `origin` */
    /* Initialises the data of a thread. Sets the heap's failure if memory is exhausted. */
    void (*begin_thread)(struct mimalloc *mi, struct theap *theap);
    /* Allocates a block if the first page has no free block. Returns NO_BLOCK, with the heap's
     * failure set, if that is impossible. */
    uint32_t (*allocate)(struct mimalloc *mi, struct theap *theap, uint64_t size);
    uint32_t (*allocate_aligned)(struct mimalloc *mi, struct theap *theap, uint64_t size,
                                 uint64_t alignment);
    uint64_t (*rounded)(uint64_t size); /* Returns the size of the block for a request. */
    /* Handles a free by the owner that empties a page, or a free in a full page. */
    void (*after_free)(struct mimalloc *mi, uint32_t number);
    /* Frees a block on behalf of a thread that does not own the block's page. */
    void (*free_remote)(struct mimalloc *mi, struct theap *theap, uint32_t number, uint32_t id);
    void (*free_page)(struct mimalloc *mi, uint32_t number);
    void (*abandon)(struct mimalloc *mi, uint32_t number);
    void (*end_thread)(struct mimalloc *mi, struct theap *theap);
    /* Returns memory to the system on behalf of a thread. `theap` is NULL if the thread has no
     * theap. */
    void (*give_back)(struct mimalloc *mi, struct theap *theap);
    void (*release)(struct mimalloc *mi);
};

/* The first member of the state of both releases. */
struct mimalloc {
    struct heap heap;
    uint64_t tick;
    const struct rules *rules;
    struct page *pages; /* pages by number; entry 0 is NO_PAGE */
    uint32_t page_capacity;
    uint32_t page_count;
    uint32_t unused_pages; /* first unused page number; linked by `next` */
    struct thread_table theaps;
    uint64_t hint;      /* hint for the next mapping's address in the real process */
    uint64_t origin;    /* real address from which the offset of a location is counted */
    uint64_t committed; /* committed bytes, modulo 2**64 */
    uint64_t calls;     /* number of calls of the program */
    bool is_started;    /* true after the program's first malloc */
    bool has_origin;
};

/* Returns the time in milliseconds. */
ALWAYS_INLINE uint64_t clock_of(const struct mimalloc *mi)
{
    uint64_t time = mi->tick > 0 ? mi->calls * mi->tick : mi->heap.request.time;
    return time / 1000000;
}

/* Allocates the first block of a page's free list. */
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

/* Returns the next free block in the thread's first page for a small request, or NO_BLOCK. */
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

/* Frees a block in a page that the calling thread owns. */
ALWAYS_INLINE void page_free_own(struct mimalloc *mi, uint32_t number, uint32_t id)
{
    struct page *page = &mi->pages[number];
    mi->heap.blocks[id].family_data = page->local;
    page->local = id;
    page->used--;
    if (page->used == 0 || UNLIKELY(page->is_full))
        mi->rules->after_free(mi, number);
}

/* Makes an empty theap. Returns NULL, with the heap's failure set, if memory is exhausted. */
struct theap *theap_make(struct mimalloc *mi);
void theap_release(struct theap *theap);
/* Splits a block at a multiple of an alignment. Returns the high part; the low part is waste until
 * the free. */
uint32_t align_inside(struct mimalloc *mi, uint32_t id, uint64_t alignment);
/* Frees a block on behalf of a thread. */
void free_for(struct mimalloc *mi, struct theap *theap, uint32_t id);
/* Collects all pages of a thread for the last time and frees the empty pages. If the thread ends,
 * abandons its other pages. */
void collect_finally(struct mimalloc *mi, struct theap *theap, bool ends);
/* Initialises an empty heap with the rules of a release. Returns false if memory is exhausted. */
bool mimalloc_init(struct mimalloc *mi, const struct rules *rules);
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

/* Returns a number for a new page. Returns NO_PAGE, with the heap's failure set, if memory is
 * exhausted. */
uint32_t page_new(struct mimalloc *mi);
/* Turns the memory in front of a new page's blocks into a block of state `front`, and the memory
 * behind them into waste. */
void page_cut_ends(struct heap *heap, struct page *page, uint32_t front);
/* Puts the next never-used blocks on the empty free list. Returns false, with the heap's failure
 * set, if memory is exhausted. */
bool page_extend(struct mimalloc *mi, uint32_t number);
/* Releases the number of a freed page. */
void page_drop(struct mimalloc *mi, uint32_t number);
/* Moves the list `local` to `free` if `free` is empty. */
void page_use_local(struct page *page);
/* Collects the blocks freed by other threads, except the newest if `keep_newest`. */
void page_collect(struct heap *heap, struct page *page, bool keep_newest);
/* Collects all blocks freed by other threads, and puts `local` on top of `free`. */
void page_collect_all(struct heap *heap, struct page *page);

/* Adds a page to the front or the end of a thread's queue. The thread becomes the page's owner. */
void queue_push(struct mimalloc *mi, struct theap *theap, uint32_t number, bool in_front);
/* Removes a page from its owner's queue. The page then has no owner. */
void queue_remove(struct mimalloc *mi, uint32_t number);
/* Retires an empty page if its owner has few pages of its bin; otherwise frees it. */
void retire(struct mimalloc *mi, uint32_t number);
/* Counts a collection for each retired page, and frees pages that have no collections left. With
 * `force`, frees all retired pages. */
void collect_retired(struct mimalloc *mi, struct theap *theap, bool force);

#endif
