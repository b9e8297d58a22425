/* What all threads of tcmalloc share of one size class: chains of blocks, and spans cut into blocks. */
#include "families/tcmalloc/tcmalloc.h"
#include "space/residence.h"
#include "space/table.h"

enum { FIRST_ROOM = 16 };

void tcmalloc_centres_init(struct tcmalloc *state)
{
    state->spans.unused = NO_SPAN;
    for (uint32_t class = 0; class < state->table.count; class++) {
        uint32_t most = state->table.classes[class].most_chains;
        state->centres[class].newest = NO_SPAN;
        state->centres[class].room = most < FIRST_ROOM ? most : FIRST_ROOM;
    }
}

void tcmalloc_centres_release(struct tcmalloc *state)
{
    table_release(state->spans.of);
}

/* A number for a new span; NO_SPAN, with the heap's failure set, when memory is exhausted. */
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

/* Makes a span the first of its class's. */
static void enter(struct tcmalloc *state, uint32_t number)
{
    struct span *span = &state->spans.of[number];
    struct centre *centre = &state->centres[span->class];
    span->newer = NO_SPAN;
    span->older = centre->newest;
    if (centre->newest != NO_SPAN)
        state->spans.of[centre->newest].newer = number;
    centre->newest = number;
}

static void leave(struct tcmalloc *state, uint32_t number)
{
    const struct span *span = &state->spans.of[number];
    if (span->newer == NO_SPAN)
        state->centres[span->class].newest = span->older;
    else
        state->spans.of[span->newer].older = span->older;
    if (span->older != NO_SPAN)
        state->spans.of[span->older].newer = span->newer;
}

/* Makes a free block the first of its span's. */
static void push(struct tcmalloc *state, uint32_t number, uint32_t id)
{
    struct span *span = &state->spans.of[number];
    if (span->free_count == 0)
        enter(state, number);
    state->links.of[id].older = span->free;
    span->free = id;
    span->free_count++;
    state->centres[span->class].free_blocks++;
}

/* Cuts new memory into the free blocks of a span, the lowest the first. */
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

/* Gets a new span for a class; false, with the heap's failure set, if that cannot be. */
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
    state->centres[number_of_class].spans++;
    cut(state, number, id);
    return true;
}

/* Gives a span back all of whose blocks are free. */
static void drop_span(struct tcmalloc *state, uint32_t number)
{
    struct span *span = &state->spans.of[number];
    const struct size_class *class = &state->table.classes[span->class];
    uint32_t id = span->lowest;
    leave(state, number);
    state->centres[span->class].spans--;
    state->centres[span->class].free_blocks -= class->blocks;
    heap_join_all(&state->heap, id, class->pages * state->page);
    span->older = state->spans.unused;
    state->spans.unused = number;
    tcmalloc_free_span(state, id);
}

/* Gives each block of a run to its span. */
static void give_to_spans(struct tcmalloc *state, struct run run)
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

/* Takes the room of a chain from the class whose turn it is; false if that has none. */
static bool take_room(struct tcmalloc *state, uint32_t taker, bool is_forced)
{
    uint32_t turn = state->turn < state->table.count ? state->turn : 0;
    state->turn = state->turn < state->table.count ? turn + 1 : 0;
    struct centre *victim = &state->centres[turn];
    bool is_full = victim->chain_count == victim->room;
    if (turn == taker || victim->room == 0 || (is_full && !is_forced))
        return false;
    victim->room--;
    if (is_full) {
        uint32_t first = victim->chains[--victim->chain_count];
        give_to_spans(state, (struct run){.first = first, .count = state->table.classes[turn].move});
    }
    return true;
}

/* Makes room for a chain, at the cost of another class if need be; false if there is none. */
static bool has_room(struct tcmalloc *state, uint32_t class)
{
    struct centre *centre = &state->centres[class];
    bool is_full = centre->chain_count == centre->room;
    if (is_full && centre->room < state->table.classes[class].most_chains &&
        (take_room(state, class, false) || take_room(state, class, true)))
        centre->room++;
    return centre->chain_count < centre->room;
}

void tcmalloc_insert(struct tcmalloc *state, uint32_t class, struct run run)
{
    struct centre *centre = &state->centres[class];
    if (run.count == state->table.classes[class].move && has_room(state, class))
        centre->chains[centre->chain_count++] = run.first;
    else
        give_to_spans(state, run);
}

/* Takes up to `count` blocks from the first span of a class. */
static struct run take_from_newest(struct tcmalloc *state, uint32_t class, uint32_t count)
{
    struct centre *centre = &state->centres[class];
    uint32_t number = centre->newest;
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
    centre->free_blocks -= run.count;
    if (span->free_count == 0)
        leave(state, number);
    state->visited++;
    return run;
}

struct run tcmalloc_fetch(struct tcmalloc *state, uint32_t class, uint32_t count)
{
    struct centre *centre = &state->centres[class];
    if (count == state->table.classes[class].move && centre->chain_count > 0) {
        state->visited++;
        return (struct run){.first = centre->chains[--centre->chain_count], .count = count};
    }
    if (centre->newest == NO_SPAN && !add_span(state, class))
        return (struct run){.first = NO_BLOCK};
    struct run run = take_from_newest(state, class, count);
    while (run.count < count && centre->newest != NO_SPAN) {
        struct run more = take_from_newest(state, class, count - run.count);
        state->links.of[more.last].older = run.first;
        run = (struct run){more.first, run.last, more.count + run.count};
    }
    return run;
}

const char *tcmalloc_centres_check(const struct tcmalloc *state, uint64_t *blocks)
{
    for (uint32_t class = 1; class < state->table.count; class++) {
        const struct centre *centre = &state->centres[class];
        uint64_t free = 0;
        for (uint32_t i = centre->newest; i != NO_SPAN; i = state->spans.of[i].older) {
            if (state->spans.of[i].class != class || state->spans.of[i].free_count == 0)
                return "a class has a span that is not to be there";
            free += state->spans.of[i].free_count;
        }
        if (free != centre->free_blocks)
            return "the free blocks of a class are miscounted";
        if (centre->chain_count > centre->room)
            return "a class has more chains than room";
        *blocks += free;
    }
    return NULL;
}
