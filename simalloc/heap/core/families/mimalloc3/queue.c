/* The queues of pages that a thread has in mimalloc 3, and pages that nobody has. */
#include "families/mimalloc3/mimalloc3.h"

enum {
    HIGHEST_SCORE = 256,
    SCORE_OF_A_HIT = 8, /* when others freed blocks in a page that was found full */
    SCORE_OF_A_PAGE = 32, /* that is left in its queue though it is full */
    RETIRED_PAGES = 3, /* that a queue may have, and that are looked at */
    RETIRE_SMALL = 16,
    RETIRE = 4,
    LARGEST_RECLAIMED = 128 * 1024,
};

void mi3_queue_push(struct mimalloc3 *state, struct theap *theap, uint32_t number, bool in_front)
{
    struct page *page = &state->pages[number];
    struct queue *queue = &theap->queues[page->bin];
    page->owner = theap;
    page->former = theap->identity;
    page->previous = in_front ? NO_PAGE : queue->last;
    page->next = in_front ? queue->first : NO_PAGE;
    *(page->previous == NO_PAGE ? &queue->first : &state->pages[page->previous].next) = number;
    *(page->next == NO_PAGE ? &queue->last : &state->pages[page->next].previous) = number;
    queue->count++;
}

void mi3_queue_remove(struct mimalloc3 *state, uint32_t number)
{
    struct page *page = &state->pages[number];
    struct queue *queue = &page->owner->queues[page->bin];
    *(page->previous == NO_PAGE ? &queue->first : &state->pages[page->previous].next) = page->next;
    *(page->next == NO_PAGE ? &queue->last : &state->pages[page->next].previous) = page->previous;
    queue->count--;
    page->owner = NULL;
}

static void move(struct mimalloc3 *state, uint32_t number, bool to_front)
{
    struct theap *theap = state->pages[number].owner;
    mi3_queue_remove(state, number);
    mi3_queue_push(state, theap, number, to_front);
}

static void count_collected(struct queue *queue, bool was_freed_in)
{
    if (was_freed_in) {
        queue->score += SCORE_OF_A_HIT;
        queue->score = queue->score < HIGHEST_SCORE ? queue->score : HIGHEST_SCORE;
    } else if (queue->score > 0) {
        queue->score--;
    }
}

/* A search through a queue. */
struct search {
    uint32_t candidate; /* the best page so far, or NO_PAGE */
    uint64_t retain; /* how many more full pages are left in the queue */
    int64_t limit; /* how many more pages are looked at if there is a candidate */
};

/* Leaves a page that is full where it is, moves it to the end, or gives it up. */
static void pass_full(struct mimalloc3 *state, struct search *search, uint32_t number,
                      uint32_t last)
{
    const struct page *page = &state->pages[number];
    if (search->retain == 0) {
        mi3_abandon(state, number);
        return;
    }
    search->retain--;
    if (number != last && page->next != NO_PAGE)
        move(state, number, false);
}

/* Makes a page with room the candidate if it is better. */
static void consider(struct mimalloc3 *state, struct search *search, uint32_t number)
{
    const struct page *page = &state->pages[number];
    uint32_t candidate = search->candidate;
    if (candidate == NO_PAGE) {
        search->candidate = number;
        search->limit = (int64_t)state->page_max_candidates;
    } else if (state->pages[candidate].used == 0) {
        search->candidate = number;
        mi3_page_free(state, candidate);
    } else if (page->used >= state->pages[candidate].used &&
               page->reserved - page->used > page->reserved / 8) {
        search->candidate = number;
    }
}

/* The best of the first pages of a queue that have room, with a free block; the full ones are given
 * up. NO_PAGE: there is none, or the heap has failed. */
static uint32_t search_queue(struct mimalloc3 *state, const struct theap *theap,
                             struct queue *queue, uint64_t *visited)
{
    struct search search = {.retain = queue->score / SCORE_OF_A_PAGE};
    if (state->pages[queue->first].block_size <= LARGEST_SMALL)
        search.retain += theap->full_retain;
    uint32_t last = queue->last;
    uint32_t next = queue->first;
    uint32_t number = NO_PAGE;
    while (number != last) {
        number = next;
        struct page *page = &state->pages[number];
        next = page->next;
        search.limit--;
        ++*visited;
        if (page->free == NO_BLOCK) {
            bool has_remote = page->remote != NO_BLOCK;
            mi3_page_collect(&state->heap, page, false);
            count_collected(queue, has_remote && page->free != NO_BLOCK);
        }
        if (page->free == NO_BLOCK && page->capacity == page->reserved) {
            pass_full(state, &search, number, last);
            continue;
        }
        consider(state, &search, number);
        if (page->free != NO_BLOCK || search.limit <= 0)
            break;
    }
    if (search.candidate == NO_PAGE)
        return NO_PAGE;
    if (state->pages[search.candidate].free == NO_BLOCK &&
        !mi3_page_extend(state, search.candidate))
        return NO_PAGE;
    move(state, search.candidate, true);
    return search.candidate;
}

/* Takes over an abandoned page with room for a block of a bin; NO_PAGE: there is none. */
static uint32_t reclaim_for(struct mimalloc3 *state, struct theap *theap, unsigned bin)
{
    uint32_t number;
    while ((number = arenas_find_marked(state, bin, theap->sequence)) != NO_PAGE) {
        arenas_unmark(state, number);
        mi3_page_collect(&state->heap, &state->pages[number], false);
        if (state->pages[number].used > 0)
            break;
        mi3_page_free(state, number);
    }
    if (number == NO_PAGE)
        return NO_PAGE;
    mi3_queue_push(state, theap, number, false);
    bool is_ready = state->pages[number].free != NO_BLOCK || mi3_page_extend(state, number);
    return is_ready ? number : NO_PAGE;
}

uint32_t mi3_find_page(struct mimalloc3 *state, struct theap *theap, uint64_t size,
                       uint64_t alignment, uint64_t *visited)
{
    if (alignment > 0 || size > LARGEST_BLOCK)
        return mi3_page_make(state, theap, system_size(size, SLICE), alignment);
    unsigned bin = bin_of(size);
    struct queue *queue = &theap->queues[bin];
    if (queue->first != NO_PAGE) {
        struct page *page = &state->pages[queue->first];
        page_use_local(page);
        uint32_t number = queue->first;
        if (page->free == NO_BLOCK)
            number = search_queue(state, theap, queue, visited);
        if (number != NO_PAGE || state->heap.failure != NULL) {
            state->pages[number].retire = 0;
            return number;
        }
    }
    mi3_collect_retired(state, theap, false);
    uint32_t number = reclaim_for(state, theap, bin);
    if (number != NO_PAGE || state->heap.failure != NULL)
        return number;
    return mi3_page_make(state, theap, size_of_bin(bin), 0);
}

void mi3_abandon(struct mimalloc3 *state, uint32_t number)
{
    struct page *page = &state->pages[number];
    mi3_page_collect(&state->heap, page, false);
    if (page->used == 0) {
        mi3_page_free(state, number);
        return;
    }
    mi3_queue_remove(state, number);
    if (page->used < page->reserved && page->arena != NO_ARENA)
        arenas_mark(state, number);
}

static void note_retired(struct theap *theap, unsigned bin)
{
    theap->lowest = theap->lowest < bin ? theap->lowest : bin;
    theap->highest = theap->highest > bin ? theap->highest : bin;
}

void retire(struct mimalloc3 *state, uint32_t number)
{
    struct page *page = &state->pages[number];
    uint32_t count = page->owner->queues[page->bin].count;
    if (page->bin == SINGLETONS || count > RETIRED_PAGES ||
        (count > 1 && page->block_size >= SMALL_REQUEST)) {
        mi3_page_free(state, number);
        return;
    }
    page->retire = page->block_size <= LARGEST_SMALL ? RETIRE_SMALL : RETIRE;
    note_retired(page->owner, page->bin);
}

/* The same for one page; whether it is still retired. */
static bool collect_page(struct mimalloc3 *state, uint32_t number, bool force)
{
    struct page *page = &state->pages[number];
    if (page->used > 0) {
        page->retire = 0;
        return false;
    }
    page->retire = force ? 0 : page->retire - 1;
    if (page->retire > 0)
        return true;
    mi3_page_free(state, number);
    return false;
}

void mi3_collect_retired(struct mimalloc3 *state, struct theap *theap, bool force)
{
    unsigned lowest = theap->lowest;
    unsigned highest = theap->highest;
    theap->lowest = QUEUES;
    theap->highest = 0;
    for (unsigned bin = lowest; bin <= highest && bin < QUEUES; bin++) {
        uint32_t number = theap->queues[bin].first;
        for (unsigned looked = 0; looked < RETIRED_PAGES && number != NO_PAGE; looked++) {
            uint32_t next = state->pages[number].next;
            if (state->pages[number].retire == 0)
                break;
            if (collect_page(state, number, force))
                note_retired(theap, bin);
            number = next;
        }
    }
}

/* Whether a thread takes over a page without an owner in which it has freed a block. */
static bool may_reclaim(const struct mimalloc3 *state, const struct theap *theap,
                        const struct page *page)
{
    if (theap == NULL || state->page_reclaim_on_free == RECLAIM_NEVER ||
        page->block_size > LARGEST_RECLAIMED)
        return false;
    uint32_t count = theap->queues[page->bin].count;
    if (page->former == theap->identity)
        return count <= state->page_max_reclaim;
    return state->page_reclaim_on_free == RECLAIM_ANY &&
           page->reserved - page->used > page->reserved / 4 &&
           count <= state->page_cross_thread_max_reclaim;
}

void free_abandoned(struct mimalloc3 *state, struct theap *theap, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    mi3_page_collect(heap, page, page->block_size <= SMALL_REQUEST);
    if (page->used == 1)
        mi3_page_collect(heap, page, false);
    if (page->used == 0) {
        mi3_page_free(state, number);
    } else if (may_reclaim(state, theap, page)) {
        arenas_unmark(state, number);
        mi3_page_collect(heap, page, false);
        mi3_queue_push(state, theap, number, false);
    } else if (!page->is_marked && page->arena != NO_ARENA &&
               page->reserved - page->used > page->reserved / 8) {
        mi3_page_collect(heap, page, false);
        arenas_mark(state, number);
    }
}
