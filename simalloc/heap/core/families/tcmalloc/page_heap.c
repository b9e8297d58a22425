/* tcmalloc's page heap: searching, merging and returning free spans. */
#include "families/tcmalloc/tcmalloc.h"
#include "space/residence.h"

enum {
    NORMAL,
    RETURNED,
    LISTED_BYTES = 1 << 20, /* free spans of up to this size have a list for each length */
    FORCED_BYTES = 128 << 20,
    DELAY = 1 << 18, /* pages freed before the next release, after a release that found no span */
    LONGEST_DELAY = 1 << 20,
    NEVER = 1, /* highest rate, in millionths, at which no span is released */
};

static uint64_t length_of(const struct tcmalloc *state, uint32_t id)
{
    return state->heap.blocks[id].size / state->page;
}

/* Inserts a free span as the newest of its length and kind. */
static void put(struct tcmalloc *state, uint32_t id, unsigned kind)
{
    struct page_heap *pages = &state->page_heap;
    uint64_t length = length_of(state, id);
    state->heap.blocks[id].family_data = SPAN_NORMAL + kind;
    pages->free[kind] += length;
    if (length <= pages->listed) {
        chain_push(&state->links, &pages->lists[kind][length], id);
        return;
    }
    if (!heap_needs(&state->heap, size_tree_reserve(&pages->long_spans[kind])))
        return;
    size_tree_insert(&pages->long_spans[kind], id, state->heap.blocks[id].address);
    tcmalloc_take_record(state, &state->metadata.long_spans, LONG_SPAN_RECORD);
}

/* Removes a free span, whose state remains free, from its list. Returns its kind. */
static unsigned take(struct tcmalloc *state, uint32_t id)
{
    struct page_heap *pages = &state->page_heap;
    struct block *block = &state->heap.blocks[id];
    unsigned kind = block->family_data - SPAN_NORMAL;
    uint64_t length = length_of(state, id);
    pages->free[kind] -= length;
    if (length <= pages->listed) {
        chain_remove(&state->links, &pages->lists[kind][length], id);
        return kind;
    }
    size_tree_remove(&pages->long_spans[kind], id);
    block->index_slot = STATE_FREE;
    tcmalloc_give_record(state, &state->metadata.long_spans);
    return kind;
}

static void discard(struct tcmalloc *state, uint32_t id)
{
    const struct block *block = &state->heap.blocks[id];
    heap_discard(&state->heap, block->address, block->size);
}

/* Returns whether a neighbour merges with a span of a kind. Under aggressive decommit, a normal
 * neighbour is returned to the system first. */
static bool merges(struct tcmalloc *state, uint32_t neighbour, unsigned kind)
{
    uint32_t data = state->heap.blocks[neighbour].family_data;
    if (!heap_is_free(&state->heap, neighbour) || data < SPAN_NORMAL)
        return false;
    if (data == SPAN_NORMAL && kind == RETURNED && state->aggressive_decommit) {
        discard(state, neighbour);
        return true;
    }
    return data == SPAN_NORMAL + kind;
}

/* Merges a free span with its neighbour above or below. */
static void merge(struct tcmalloc *state, uint32_t id, bool above)
{
    struct heap *heap = &state->heap;
    uint32_t neighbour = above ? heap->blocks[id].next : heap->blocks[id].previous;
    take(state, neighbour);
    heap_mark(heap, neighbour, STATE_WASTE);
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.coalescings++;
    tcmalloc_give_record(state, &state->metadata.spans);
}

/* Merges a free span with its free neighbours of the same kind, and inserts the result. */
static void enter(struct tcmalloc *state, uint32_t id, unsigned kind)
{
    if (merges(state, state->heap.blocks[id].previous, kind))
        merge(state, id, false);
    if (merges(state, state->heap.blocks[id].next, kind))
        merge(state, id, true);
    put(state, id, kind);
}

/* Returns the next span to release: the oldest of the cursor's length, or past all lengths the best
 * long span. */
static uint32_t next_to_release(const struct page_heap *pages)
{
    if (pages->cursor <= pages->listed)
        return pages->lists[NORMAL][pages->cursor].oldest;
    return size_tree_best(&pages->long_spans[NORMAL], 0);
}

uint64_t tcmalloc_release_spans(struct tcmalloc *state, uint64_t least)
{
    struct page_heap *pages = &state->page_heap;
    uint64_t released = 0;
    while (released < least && pages->free[NORMAL] > 0) {
        uint32_t id = next_to_release(pages);
        if (id != NO_BLOCK) {
            released += length_of(state, id);
            take(state, id);
            discard(state, id);
            enter(state, id, RETURNED);
        }
        pages->cursor = pages->cursor <= pages->listed ? pages->cursor + 1 : 1;
    }
    return released;
}

void tcmalloc_free_span(struct tcmalloc *state, uint32_t id)
{
    struct page_heap *pages = &state->page_heap;
    pages->delay -= (int64_t)length_of(state, id);
    heap_mark(&state->heap, id, STATE_FREE);
    if (state->aggressive_decommit)
        discard(state, id);
    enter(state, id, state->aggressive_decommit ? RETURNED : NORMAL);
    if (pages->delay >= 0)
        return;
    uint64_t released = state->release_rate > NEVER ? tcmalloc_release_spans(state, 1) : 0;
    pages->delay = DELAY;
    if (released > 0) {
        double wait = 1000 / ((double)state->release_rate / 1e6) * (double)released;
        pages->delay = wait < LONGEST_DELAY ? (int64_t)wait : LONGEST_DELAY;
    }
}

uint32_t tcmalloc_split_span(struct tcmalloc *state, uint32_t id, uint64_t pages)
{
    tcmalloc_take_record(state, &state->metadata.spans, SPAN_RECORD);
    state->heap.counters.splits++;
    return heap_cut_off(&state->heap, id, pages * state->page);
}

/* Allocates the low end of a free span. The remainder keeps its kind. */
static uint32_t use(struct tcmalloc *state, uint32_t id, uint64_t pages)
{
    unsigned kind = take(state, id);
    state->visited++;
    if (length_of(state, id) > pages)
        put(state, tcmalloc_split_span(state, id, pages), kind);
    heap_mark(&state->heap, id, STATE_WASTE);
    return id;
}

/* Returns the pages obtained from the system, including metadata, less the returned pages. */
static uint64_t held(const struct tcmalloc *state)
{
    return state->heap.mapped / state->page - state->page_heap.free[RETURNED];
}

static bool is_within_limit(const struct tcmalloc *state, uint64_t pages)
{
    return state->page_heap.limit == 0 || held(state) + pages <= state->page_heap.limit;
}

/* Returns whether the limit allows `pages` more pages. Returns other pages to the system first if
 * necessary. */
static bool ensure_limit(struct tcmalloc *state, uint64_t pages)
{
    if (!is_within_limit(state, pages))
        tcmalloc_release_spans(state, held(state) + pages - state->page_heap.limit);
    return is_within_limit(state, pages);
}

/* Returns whether a returned span is preferred to an available normal span. */
static bool is_better(const struct tcmalloc *state, uint32_t returned, uint32_t normal)
{
    const struct block *one = &state->heap.blocks[returned];
    const struct block *other = &state->heap.blocks[normal];
    if (one->size != other->size)
        return one->size < other->size;
    return state->version == VERSION_2_10 && one->address < other->address;
}

static uint32_t find_long(struct tcmalloc *state, uint64_t pages)
{
    for (;;) {
        uint64_t size = pages * state->page;
        uint32_t normal = size_tree_best(&state->page_heap.long_spans[NORMAL], size);
        uint32_t returned = size_tree_best(&state->page_heap.long_spans[RETURNED], size);
        bool prefers = returned != NO_BLOCK &&
                       (normal == NO_BLOCK || is_better(state, returned, normal));
        uint32_t id = prefers ? returned : normal;
        if (id == NO_BLOCK || !prefers || is_within_limit(state, pages))
            return id;
        if (!ensure_limit(state, pages))
            return NO_BLOCK;
    }
}

/* Returns a free span of at least `pages` pages, or NO_BLOCK. */
static uint32_t find(struct tcmalloc *state, uint64_t pages)
{
    const struct page_heap *free = &state->page_heap;
    for (uint64_t length = pages; length <= free->listed; length++) {
        const struct chain *returned = &free->lists[RETURNED][length];
        if (free->lists[NORMAL][length].newest != NO_BLOCK)
            return free->lists[NORMAL][length].newest;
        if (returned->newest != NO_BLOCK && ensure_limit(state, pages) &&
            returned->newest != NO_BLOCK)
            return returned->newest;
    }
    return find_long(state, pages);
}

/* Returns whether all normal spans are returned to the system before the heap grows. This requires
 * normal and returned free spans, free pages of at least a quarter of all pages, and a growth that
 * passes a multiple of FORCED_BYTES. */
static bool gives_all_back(const struct tcmalloc *state, uint64_t pages)
{
    const struct page_heap *free = &state->page_heap;
    uint64_t interval = FORCED_BYTES / state->page;
    return free->free[NORMAL] > 0 && free->free[RETURNED] > 0 &&
           4 * (free->free[NORMAL] + free->free[RETURNED]) >= free->system &&
           free->system / interval != (free->system + pages) / interval;
}

/* Obtains free pages from the system. Returns false, with the heap's failure set, if that is
 * impossible. */
static bool grow(struct tcmalloc *state, uint64_t pages)
{
    struct heap *heap = &state->heap;
    uint64_t ask = pages < state->page_heap.listed ? state->page_heap.listed : pages;
    bool is_first = state->page_heap.system == 0; /* the settings are read after the first growth */
    if (!is_first && !ensure_limit(state, ask)) {
        ask = pages;
        if (!ensure_limit(state, ask)) {
            heap_refuse(heap);
            return false;
        }
    }
    if (!heap_has_room(heap, ask * state->page))
        ask = pages;
    uint32_t id = heap_extend(heap, ask * state->page);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    tcmalloc_describe(state, heap->blocks[id].address, heap->blocks[id].size);
    tcmalloc_take_record(state, &state->metadata.spans, SPAN_RECORD);
    state->page_heap.system += ask;
    if (is_first) {
        heap_mark(heap, id, STATE_FREE);
        enter(state, id, NORMAL);
    } else {
        tcmalloc_free_span(state, id);
    }
    return heap->failure == NULL;
}

uint32_t tcmalloc_allocate_span(struct tcmalloc *state, uint64_t pages)
{
    uint32_t id = find(state, pages);
    if (id == NO_BLOCK && gives_all_back(state, pages)) {
        tcmalloc_release_spans(state, state->page_heap.free[NORMAL]);
        id = find(state, pages);
    }
    if (id != NO_BLOCK)
        return use(state, id, pages);
    uint64_t visited = state->visited;
    if (!grow(state, pages))
        return NO_BLOCK;
    id = use(state, find(state, pages), pages);
    state->visited = visited;
    return id;
}

bool tcmalloc_page_heap_init(struct tcmalloc *state)
{
    struct page_heap *pages = &state->page_heap;
    pages->listed = LISTED_BYTES / state->page;
    pages->limit = (state->heap_limit_mb << 20) / state->page;
    state->heap.may_refuse |= pages->limit > 0;
    pages->cursor = pages->listed + 1;
    pages->delay = DELAY;
    return size_tree_init(&pages->long_spans[NORMAL], &state->heap) &&
           size_tree_init(&pages->long_spans[RETURNED], &state->heap);
}

void tcmalloc_page_heap_release(struct tcmalloc *state)
{
    size_tree_release(&state->page_heap.long_spans[NORMAL]);
    size_tree_release(&state->page_heap.long_spans[RETURNED]);
}

static const char *check_list(const struct tcmalloc *state, unsigned kind, uint64_t length)
{
    const struct chain *list = &state->page_heap.lists[kind][length];
    uint32_t count = 0;
    for (uint32_t id = list->oldest; id != NO_BLOCK; id = state->links.of[id].newer) {
        if (length_of(state, id) != length || !heap_is_free(&state->heap, id))
            return "a span is in the list of another length";
        if (state->heap.blocks[id].family_data != SPAN_NORMAL + kind)
            return "a span is in a list of the other kind";
        count++;
    }
    return count == list->count ? NULL : "the spans of a list are miscounted";
}

const char *tcmalloc_page_heap_check(const struct tcmalloc *state, uint64_t *blocks)
{
    const struct page_heap *pages = &state->page_heap;
    const char *wrong = NULL;
    for (unsigned kind = NORMAL; kind < KINDS && wrong == NULL; kind++) {
        *blocks += pages->long_spans[kind].blocks;
        wrong = size_tree_check(&pages->long_spans[kind]);
        for (uint64_t length = 1; length <= pages->listed && wrong == NULL; length++) {
            *blocks += pages->lists[kind][length].count;
            wrong = check_list(state, kind, length);
        }
    }
    return wrong;
}
