/* The page queues of a mimalloc thread, and the retired pages in them. */
#include "families/mimalloc/mimalloc.h"

/* Returns the queue that contains a page or that it belongs in. */
static struct queue *queue_of(const struct page *page)
{
    return &page->owner->queues[page->is_full ? FULL : page->bin];
}

void queue_push(struct mimalloc *mi, struct theap *theap, uint32_t number, bool in_front)
{
    struct page *page = &mi->pages[number];
    page->owner = theap;
    page->former = theap->identity;
    struct queue *queue = queue_of(page);
    page->previous = in_front ? NO_PAGE : queue->last;
    page->next = in_front ? queue->first : NO_PAGE;
    *(page->previous == NO_PAGE ? &queue->first : &mi->pages[page->previous].next) = number;
    *(page->next == NO_PAGE ? &queue->last : &mi->pages[page->next].previous) = number;
    queue->count++;
}

void queue_remove(struct mimalloc *mi, uint32_t number)
{
    struct page *page = &mi->pages[number];
    struct queue *queue = queue_of(page);
    *(page->previous == NO_PAGE ? &queue->first : &mi->pages[page->previous].next) = page->next;
    *(page->next == NO_PAGE ? &queue->last : &mi->pages[page->next].previous) = page->previous;
    queue->count--;
    page->owner = NULL;
}

static void note_retired(struct theap *theap, unsigned bin)
{
    theap->lowest = theap->lowest < bin ? theap->lowest : bin;
    theap->highest = theap->highest > bin ? theap->highest : bin;
}

void retire(struct mimalloc *mi, uint32_t number)
{
    const struct rules *rules = mi->rules;
    struct page *page = &mi->pages[number];
    uint32_t count = queue_of(page)->count;
    if (page->bin == SINGLES || page->is_full || count > rules->retired_pages ||
        (count > 1 && page->block_size >= SMALL_REQUEST)) {
        rules->free_page(mi, number);
        return;
    }
    page->retire = page->block_size <= rules->largest_small ? rules->retire_small : rules->retire;
    note_retired(page->owner, page->bin);
}

/* Counts a collection for a retired page. Returns whether the page is still retired. */
static bool collect_page(struct mimalloc *mi, uint32_t number, bool force)
{
    struct page *page = &mi->pages[number];
    if (page->used > 0) {
        page->retire = 0;
        return false;
    }
    page->retire = force ? 0 : page->retire - 1;
    if (page->retire > 0)
        return true;
    mi->rules->free_page(mi, number);
    return false;
}

void collect_retired(struct mimalloc *mi, struct theap *theap, bool force)
{
    unsigned lowest = theap->lowest;
    unsigned highest = theap->highest;
    theap->lowest = QUEUES;
    theap->highest = 0;
    for (unsigned bin = lowest; bin <= highest && bin < QUEUES; bin++) {
        uint32_t number = theap->queues[bin].first;
        for (uint32_t visited = 0; visited < mi->rules->retired_pages && number != NO_PAGE;
             visited++) {
            uint32_t next = mi->pages[number].next;
            if (mi->pages[number].retire == 0)
                break;
            if (collect_page(mi, number, force))
                note_retired(theap, bin);
            number = next;
        }
    }
}
