/* The page queues of a mimalloc 3 thread, and the abandoned pages. */
#include "families/mimalloc3/mimalloc3.h"

enum {
    HIGHEST_SCORE = 256,
    /* added to the score if other threads freed blocks in a page that was found full */
    SCORE_OF_A_HIT = 8,
    SCORE_OF_A_PAGE = 32, /* score for each full page that stays in its queue */
    LARGEST_RECLAIMED = 128 * 1024,
};

static void move(struct mimalloc *mi, uint32_t number, bool to_front)
{
    struct theap *theap = mi->pages[number].owner;
    queue_remove(mi, number);
    queue_push(mi, theap, number, to_front);
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
    uint32_t candidate; /* best page found so far, or NO_PAGE */
    uint64_t retain;    /* number of further full pages to leave in the queue */
    int64_t limit;      /* number of further pages to examine after a candidate is found */
};

/* Leaves a full page in place, moves it to the end of its queue, or abandons it. */
static void pass_full(struct mimalloc3 *state, struct search *search, uint32_t number,
                      uint32_t last)
{
    const struct page *page = &state->mi.pages[number];
    if (search->retain == 0) {
        mi3_abandon(&state->mi, number);
        return;
    }
    search->retain--;
    if (number != last && page->next != NO_PAGE)
        move(&state->mi, number, false);
}

/* Makes a page with free blocks the candidate if it is better than the current one. */
static void consider(struct mimalloc3 *state, struct search *search, uint32_t number)
{
    const struct page *page = &state->mi.pages[number];
    uint32_t candidate = search->candidate;
    if (candidate == NO_PAGE) {
        search->candidate = number;
        search->limit = (int64_t)state->page_max_candidates;
    } else if (state->mi.pages[candidate].used == 0) {
        search->candidate = number;
        mi3_page_free(&state->mi, candidate);
    } else if (page->used >= state->mi.pages[candidate].used &&
               page->reserved - page->used > page->reserved / 8) {
        search->candidate = number;
    }
}

/* Searches a queue for the best of its first pages with free blocks, and abandons full pages on the
 * way. Returns NO_PAGE if no page has a free block, or if the heap has failed. */
static uint32_t search_queue(struct mimalloc3 *state, const struct theap *theap,
                             struct queue *queue, uint64_t *visited)
{
    struct search search = {.retain = queue->score / SCORE_OF_A_PAGE};
    if (state->mi.pages[queue->first].block_size <= LARGEST_SMALL)
        search.retain += theap->full_retain;
    uint32_t last = queue->last;
    uint32_t next = queue->first;
    uint32_t number = NO_PAGE;
    while (number != last) {
        number = next;
        struct page *page = &state->mi.pages[number];
        next = page->next;
        search.limit--;
        ++*visited;
        if (page->free == NO_BLOCK) {
            bool has_remote = page->remote != NO_BLOCK;
            page_collect(&state->mi.heap, page, false);
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
    if (state->mi.pages[search.candidate].free == NO_BLOCK &&
        !page_extend(&state->mi, search.candidate))
        return NO_PAGE;
    move(&state->mi, search.candidate, true);
    return search.candidate;
}

/* Reclaims an abandoned page with a free block of a bin. Returns NO_PAGE if no such page exists. */
static uint32_t reclaim_for(struct mimalloc3 *state, struct theap *theap, unsigned bin)
{
    uint32_t number;
    while ((number = arenas_find_marked(state, bin, theap->sequence)) != NO_PAGE) {
        arenas_unmark(state, number);
        page_collect(&state->mi.heap, &state->mi.pages[number], false);
        if (state->mi.pages[number].used > 0)
            break;
        mi3_page_free(&state->mi, number);
    }
    if (number == NO_PAGE)
        return NO_PAGE;
    queue_push(&state->mi, theap, number, false);
    bool is_ready = state->mi.pages[number].free != NO_BLOCK || page_extend(&state->mi, number);
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
        struct page *page = &state->mi.pages[queue->first];
        page_use_local(page);
        uint32_t number = queue->first;
        if (page->free == NO_BLOCK)
            number = search_queue(state, theap, queue, visited);
        if (number != NO_PAGE || state->mi.heap.failure != NULL) {
            state->mi.pages[number].retire = 0;
            return number;
        }
    }
    collect_retired(&state->mi, theap, false);
    uint32_t number = reclaim_for(state, theap, bin);
    if (number != NO_PAGE || state->mi.heap.failure != NULL)
        return number;
    return mi3_page_make(state, theap, size_of_bin(bin), 0);
}

void mi3_abandon(struct mimalloc *mi, uint32_t number)
{
    struct page *page = &mi->pages[number];
    page_collect(&mi->heap, page, false);
    if (page->used == 0) {
        mi3_page_free(mi, number);
        return;
    }
    queue_remove(mi, number);
    if (page->used < page->reserved && page->arena != NO_ARENA)
        arenas_mark((struct mimalloc3 *)mi, number);
}

/* Returns whether a thread reclaims an abandoned page in which it has freed a block. */
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
    struct heap *heap = &state->mi.heap;
    struct page *page = &state->mi.pages[number];
    page_collect(heap, page, page->block_size <= SMALL_REQUEST);
    if (page->used == 1)
        page_collect(heap, page, false);
    if (page->used == 0) {
        mi3_page_free(&state->mi, number);
    } else if (may_reclaim(state, theap, page)) {
        arenas_unmark(state, number);
        page_collect(heap, page, false);
        queue_push(&state->mi, theap, number, false);
    } else if (!page->is_marked && page->arena != NO_ARENA &&
               page->reserved - page->used > page->reserved / 8) {
        page_collect(heap, page, false);
        arenas_mark(state, number);
    }
}
