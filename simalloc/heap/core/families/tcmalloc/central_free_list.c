/* The central free lists of tcmalloc and their transfer caches. */
#include "families/tcmalloc/tcmalloc.h"
#include "space/residence.h"
#include "space/table.h"

enum { FIRST_CACHE_SIZE = 16 };

void tcmalloc_central_lists_init(struct tcmalloc *state)
{
    state->spans.unused = NO_SPAN;
    for (uint32_t class = 0; class < state->table.count; class++) {
        uint32_t most = state->table.classes[class].max_cache_size;
        state->central_lists[class].newest = NO_SPAN;
        state->central_lists[class].cache_size = most < FIRST_CACHE_SIZE ? most : FIRST_CACHE_SIZE;
    }
}

void tcmalloc_central_lists_release(struct tcmalloc *state)
{
    table_release(state->spans.of);
}

/* Returns a number for a new span. Returns NO_SPAN, with the heap's failure set, if memory is
 * exhausted. */
static uint32_t new_span(struct tcmalloc *state)
{
    struct spans *spans = &state->spans;
    uint32_t number = spans->unused;
    if (number != NO_SPAN) {
        spans->unused = spans->of[number].older;
        return number;
    }
    if (!heap_needs(&state->heap,
                    TABLE_SPARE(spans->of, spans->used, 1, SPAN_NORMAL, spans->capacity)))
        return NO_SPAN;
    return spans->used++;
}

/* Inserts a span at the front of the list of its class. */
static void enter(struct tcmalloc *state, uint32_t number)
{
    struct span *span = &state->spans.of[number];
    struct central_free_list *central = &state->central_lists[span->class];
    span->newer = NO_SPAN;
    span->older = central->newest;
    if (central->newest != NO_SPAN)
        state->spans.of[central->newest].newer = number;
    central->newest = number;
}

static void leave(struct tcmalloc *state, uint32_t number)
{
    const struct span *span = &state->spans.of[number];
    if (span->newer == NO_SPAN)
        state->central_lists[span->class].newest = span->older;
    else
        state->spans.of[span->newer].older = span->older;
    if (span->older != NO_SPAN)
        state->spans.of[span->older].newer = span->newer;
}

/* Inserts a free block at the front of the list of its span. */
static void push(struct tcmalloc *state, uint32_t number, uint32_t id)
{
    struct span *span = &state->spans.of[number];
    if (span->free_count == 0)
        enter(state, number);
    state->links.of[id].older = span->free;
    span->free = id;
    span->free_count++;
    state->central_lists[span->class].free_blocks++;
}

/* Cuts new memory into the free blocks of a span. The lowest block is first in the list. */
static void cut(struct tcmalloc *state, uint32_t number, uint32_t id)
{
    struct heap *heap = &state->heap;
    const struct size_class *class = &state->table.classes[state->spans.of[number].class];
    uint64_t size = class->size;
    if (heap->blocks[id].size > class->blocks * size)
        heap_cut_off(heap, id, class->blocks * size);
    heap_mark(heap, id, STATE_FREE);
    for (uint32_t i = class->blocks; i-- > 0;) {
        uint32_t block = i == 0 ? id : heap_cut_off(heap, id, i * size);
        heap->blocks[block].family_data = number;
        heap_touch(heap, heap->blocks[block].address, heap->setting.word);
        push(state, number, block);
    }
}

/* Allocates a new span for a class. Returns false, with the heap's failure set, if that is
 * impossible. */
static bool add_span(struct tcmalloc *state, uint32_t number_of_class)
{
    const struct size_class *class = &state->table.classes[number_of_class];
    uint32_t id = tcmalloc_allocate_span(state, class->pages);
    if (id == NO_BLOCK || !tcmalloc_reserve(state, class->blocks))
        return false;
    uint32_t number = new_span(state);
    if (number == NO_SPAN)
        return false;
    state->spans.of[number] = (struct span){.lowest = id, .class = number_of_class};
    state->central_lists[number_of_class].spans++;
    cut(state, number, id);
    return true;
}

/* Frees a span whose blocks are all free. */
static void drop_span(struct tcmalloc *state, uint32_t number)
{
    struct span *span = &state->spans.of[number];
    const struct size_class *class = &state->table.classes[span->class];
    uint32_t id = span->lowest;
    leave(state, number);
    state->central_lists[span->class].spans--;
    state->central_lists[span->class].free_blocks -= class->blocks;
    heap_join_all(&state->heap, id, class->pages * state->page);
    span->older = state->spans.unused;
    state->spans.unused = number;
    tcmalloc_free_span(state, id);
}

/* Returns each block of a run to its span. */
static void release_list_to_spans(struct tcmalloc *state, struct run run)
{
    uint32_t id = run.first;
    for (uint32_t left = run.count; left > 0; left--) {
        uint32_t number = state->heap.blocks[id].family_data;
        const struct span *span = &state->spans.of[number];
        uint32_t next = state->links.of[id].older;
        heap_mark(&state->heap, id, STATE_FREE);
        push(state, number, id);
        if (span->free_count == state->table.classes[span->class].blocks)
            drop_span(state, number);
        id = next;
    }
}

/* Takes a slot from the transfer cache of the next class in turn. Returns false if that cache
 * cannot give up a slot. Upstream's counter does not advance when it wraps, so class 0 occurs twice
 * in a row. */
static bool evict_size_class(struct tcmalloc *state, uint32_t taker, bool is_forced)
{
    uint32_t turn = state->turn < state->table.count ? state->turn : 0;
    state->turn = state->turn < state->table.count ? turn + 1 : 0;
    struct central_free_list *victim = &state->central_lists[turn];
    bool is_full = victim->used_slots == victim->cache_size;
    if (turn == taker || victim->cache_size == 0 || (is_full && !is_forced))
        return false;
    victim->cache_size--;
    if (is_full) {
        uint32_t first = victim->slots[--victim->used_slots];
        struct run run = {.first = first, .count = state->table.classes[turn].move};
        release_list_to_spans(state, run);
    }
    return true;
}

/* Ensures an unused slot for a batch, if necessary by taking a slot from another class. Returns
 * false if no slot can be freed. */
static bool make_cache_space(struct tcmalloc *state, uint32_t class)
{
    struct central_free_list *central = &state->central_lists[class];
    bool is_full = central->used_slots == central->cache_size;
    if (is_full && central->cache_size < state->table.classes[class].max_cache_size &&
        (evict_size_class(state, class, false) || evict_size_class(state, class, true)))
        central->cache_size++;
    return central->used_slots < central->cache_size;
}

void tcmalloc_insert(struct tcmalloc *state, uint32_t class, struct run run)
{
    struct central_free_list *central = &state->central_lists[class];
    if (run.count == state->table.classes[class].move && make_cache_space(state, class))
        central->slots[central->used_slots++] = run.first;
    else
        release_list_to_spans(state, run);
}

/* Removes up to `count` blocks from the first span of a class. */
static struct run take_from_newest(struct tcmalloc *state, uint32_t class, uint32_t count)
{
    struct central_free_list *central = &state->central_lists[class];
    uint32_t number = central->newest;
    struct span *span = &state->spans.of[number];
    struct run run = {.first = span->free};
    uint32_t id = span->free;
    for (; run.count < count && run.count < span->free_count; run.count++) {
        heap_mark(&state->heap, id, STATE_CACHED);
        run.last = id;
        id = state->links.of[id].older;
    }
    span->free = id;
    span->free_count -= run.count;
    central->free_blocks -= run.count;
    if (span->free_count == 0)
        leave(state, number);
    state->visited++;
    return run;
}

struct run tcmalloc_fetch(struct tcmalloc *state, uint32_t class, uint32_t count)
{
    struct central_free_list *central = &state->central_lists[class];
    if (count == state->table.classes[class].move && central->used_slots > 0) {
        state->visited++;
        return (struct run){.first = central->slots[--central->used_slots], .count = count};
    }
    if (central->newest == NO_SPAN && !add_span(state, class))
        return (struct run){.first = NO_BLOCK};
    struct run run = take_from_newest(state, class, count);
    while (run.count < count && central->newest != NO_SPAN) {
        struct run more = take_from_newest(state, class, count - run.count);
        state->links.of[more.last].older = run.first;
        run = (struct run){more.first, run.last, more.count + run.count};
    }
    return run;
}

const char *tcmalloc_central_lists_check(const struct tcmalloc *state, uint64_t *blocks)
{
    for (uint32_t class = 1; class < state->table.count; class++) {
        const struct central_free_list *central = &state->central_lists[class];
        uint64_t free = 0;
        for (uint32_t i = central->newest; i != NO_SPAN; i = state->spans.of[i].older) {
            if (state->spans.of[i].class != class || state->spans.of[i].free_count == 0)
                return "the list of a class contains a span of another class or without free "
                       "blocks";
            free += state->spans.of[i].free_count;
        }
        if (free != central->free_blocks)
            return "the free blocks of a class are miscounted";
        if (central->used_slots > central->cache_size)
            return "a transfer cache holds more batches than its capacity";
        *blocks += free;
    }
    return NULL;
}
