/* The calls that a program makes to mimalloc, with the rules of one release. */
#include <stdlib.h>

#include "families/mimalloc/mimalloc.h"
#include "layers/define_layer.h"

enum { THREAD_BLOCK = 288 }; /* bytes that the C library allocates to start a thread */

const char *const mimalloc_figures[1] = {"committed"};

struct theap *theap_make(struct mimalloc *mi)
{
    struct theap *theap = calloc(1, sizeof *theap);
    if (theap == NULL)
        heap_fail(&mi->heap, OUT_OF_MEMORY);
    else
        theap->lowest = QUEUES;
    return theap;
}

void theap_release(struct theap *theap)
{
    if (theap != NULL)
        table_release(theap->delayed);
    free(theap);
}

/* Adds an empty theap for a thread. Returns NULL, with the heap's failure set, if memory is
 * exhausted. */
static struct theap *add_theap(struct mimalloc *mi, uint32_t thread)
{
    if (!heap_needs(&mi->heap, thread_table_add(&mi->theaps, thread)))
        return NULL;
    struct theap *theap = theap_make(mi);
    thread_table_keep(&mi->theaps, thread, theap);
    if (theap == NULL)
        return NULL;
    mi->rules->begin_thread(mi, theap);
    return mi->heap.failure == NULL ? theap : NULL;
}

/* Returns the theap of the request's thread, or NULL. */
static struct theap *theap_of_caller(const struct mimalloc *mi)
{
    return thread_table_find(&mi->theaps, mi->heap.request.thread);
}

/* Returns the theap of the request's thread, and makes it at the thread's first malloc. Returns
 * NULL, with the heap's failure set, if it cannot be made. */
static struct theap *theap_for_caller(struct mimalloc *mi)
{
    struct theap *theap = theap_of_caller(mi);
    return LIKELY(theap != NULL) ? theap : add_theap(mi, mi->heap.request.thread);
}

uint32_t align_inside(struct mimalloc *mi, uint32_t id, uint64_t alignment)
{
    struct heap *heap = &mi->heap;
    uint64_t address = heap->blocks[id].address;
    uint64_t skipped = round_up(address, alignment) - address;
    if (skipped == 0)
        return id;
    uint32_t number = heap->blocks[id].family_data;
    mi->pages[number].has_aligned = true;
    heap_mark(heap, id, STATE_WASTE);
    uint32_t high = heap_cut_off(heap, id, skipped);
    heap_mark(heap, high, STATE_ALLOCATED);
    heap->blocks[high].family_data = number;
    return high;
}

/* Makes the allocations that precede the program's own first call. */
static NEVER_INLINE void start_program(struct mimalloc *mi)
{
    struct heap *heap = &mi->heap;
    uint64_t threads = heap->setting.mechanism ? heap->setting.other_threads : 0;
    const struct counters before = heap->counters;
    mi->is_started = true;
    for (uint64_t i = 0; i < threads && heap->failure == NULL; i++) {
        if (!heap_reserve_more(heap, BLOCKS_AN_EVENT))
            return;
        struct theap *first = thread_table_find(&mi->theaps, 0);
        uint32_t id = heap_need(heap, allocate_for(mi, first, THREAD_BLOCK));
        if (id != NO_BLOCK)
            heap_mark(heap, id, STATE_TABLE);
    }
    forget_searches(heap, &before);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct mimalloc *mi = (struct mimalloc *)heap;
    if (UNLIKELY(!mi->is_started))
        start_program(mi);
    mi->calls++;
    struct theap *theap = theap_for_caller(mi);
    if (theap == NULL)
        return NO_BLOCK;
    uint64_t alignment = heap->request.alignment;
    uint32_t id = UNLIKELY(alignment > 1)
                      ? mi->rules->allocate_aligned(mi, theap, size, alignment)
                      : allocate_for(mi, theap, size);
    if (UNLIKELY(!mi->has_origin) && id != NO_BLOCK) {
        uint64_t absolute = mi->pages[heap->blocks[id].family_data].absolute;
        mi->origin = absolute - absolute % mi->rules->origin_unit;
        mi->has_origin = true;
    }
    return id;
}

/* Joins an aligned object to the memory in front of it in its block. Returns the whole block. */
static uint32_t whole_block(struct heap *heap, const struct page *page, uint32_t id)
{
    if ((heap->blocks[id].address - page->first) % page->block_size == 0)
        return id;
    uint32_t low = heap->blocks[id].previous;
    heap_join_next(heap, low);
    return low;
}

void free_for(struct mimalloc *mi, struct theap *theap, uint32_t id)
{
    struct heap *heap = &mi->heap;
    uint32_t number = heap->blocks[id].family_data;
    struct page *page = &mi->pages[number];
    if (UNLIKELY(page->has_aligned)) {
        heap_mark(heap, id, STATE_WASTE);
        id = whole_block(heap, page, id);
    }
    heap_mark(heap, id, STATE_FREE);
    if (LIKELY(page->owner != NULL && page->owner == theap))
        page_free_own(mi, number, id);
    else
        mi->rules->free_remote(mi, theap, number, id);
}

static void release(struct heap *heap, uint32_t id)
{
    struct mimalloc *mi = (struct mimalloc *)heap;
    mi->calls++;
    free_for(mi, theap_of_caller(mi), id);
}

/* Returns whether a block is large enough for `size` bytes, and at most twice as large. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    uint64_t usable = heap->blocks[id].size;
    return heap->request.size > 0 && usable / 2 <= size && size <= usable;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct mimalloc *mi = (struct mimalloc *)heap;
    mi->calls++;
    if (resize(heap, id, size))
        return id;
    uint64_t kept = heap->blocks[id].size < size ? heap->blocks[id].size : size;
    struct theap *theap = theap_for_caller(mi);
    uint32_t moved = theap == NULL ? NO_BLOCK : allocate_for(mi, theap, size);
    if (moved == NO_BLOCK)
        return NO_BLOCK;
    heap_touch(heap, heap->blocks[moved].address, kept);
    free_for(mi, theap, id);
    return moved;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    return ((const struct mimalloc *)heap)->rules->rounded(size);
}

DEFINE_LAYER(mimalloc, true, allocate, release, heap_reserve, .resize = resize,
             .reallocate = reallocate_block, .rounded = rounded)

const struct layer *mimalloc_layer(struct heap *heap)
{
    (void)heap;
    return &layer_mimalloc;
}

void collect_finally(struct mimalloc *mi, struct theap *theap, bool ends)
{
    collect_retired(mi, theap, true);
    for (unsigned bin = 0; bin < QUEUES; bin++) {
        for (uint32_t number = theap->queues[bin].first, next; number != NO_PAGE; number = next) {
            struct page *page = &mi->pages[number];
            next = page->next;
            page_collect_all(&mi->heap, page);
            if (page->used == 0)
                mi->rules->free_page(mi, number);
            else if (ends)
                mi->rules->abandon(mi, number);
        }
    }
}

void mimalloc_end_thread(struct heap *heap)
{
    struct mimalloc *mi = (struct mimalloc *)heap;
    if (!mi->is_started)
        start_program(mi);
    struct theap *theap = theap_of_caller(mi);
    mi->calls++;
    if (theap == NULL)
        return;
    thread_table_keep(&mi->theaps, heap->request.thread, NULL);
    mi->rules->end_thread(mi, theap);
    theap_release(theap);
}

void mimalloc_give_back(struct heap *heap)
{
    struct mimalloc *mi = (struct mimalloc *)heap;
    mi->calls++;
    mi->rules->give_back(mi, theap_of_caller(mi));
}

void mimalloc_locate(const struct heap *heap, uint32_t id, struct location *location)
{
    const struct mimalloc *mi = (const struct mimalloc *)heap;
    const struct block *block = &heap->blocks[id];
    const struct page *page = &mi->pages[block->family_data];
    *location = (struct location){
        .offset = (int64_t)(page->absolute + (block->address - page->start) - mi->origin),
    };
}

void mimalloc_report(const struct heap *heap, uint64_t *figures)
{
    uint64_t committed = ((const struct mimalloc *)heap)->committed;
    figures[0] = committed <= INT64_MAX ? committed : 0;
}

bool mimalloc_init(struct mimalloc *mi, const struct rules *rules)
{
    mi->rules = rules;
    mi->page_count = 1;
    if (!TABLE_SPARE(mi->pages, 0, 1, UINT32_MAX, mi->page_capacity))
        return false;
    mi->pages[NO_PAGE] = (struct page){.base = NO_BLOCK};
    return add_theap(mi, 0) != NULL;
}

void mimalloc_release(void *memory)
{
    struct mimalloc *mi = memory;
    for (uint32_t place = 0; place < mi->theaps.capacity; place++)
        theap_release(mi->theaps.slots[place].kept);
    thread_table_release(&mi->theaps);
    table_release(mi->pages);
    if (mi->rules != NULL)
        mi->rules->release(mi);
}
