/* Records of mimalloc 3 on pages and slices: the page map, abandoned pages, and scheduled
 * purges. */
#include "families/mimalloc3/mimalloc3.h"

#include <stdlib.h>

enum {
    MAX_REGISTERED = 64, /* maximum number of a page's slices that the page map records */
    /* one call purges at most arena_count / ARENAS_TO_PURGE_ONE + 1 arenas */
    ARENAS_TO_PURGE_ONE = 4,
    /* number of search orders for abandoned pages; threads use them in turn */
    SEQUENCES_OF_SEARCH = 8,
};

#define PAGE_MAP_RANGE (512 * MIB)
#define SLICES_OF_PART (PAGE_MAP_RANGE / SLICE)

static uint32_t slice_of(const struct mimalloc3 *state, const struct page *page)
{
    return (uint32_t)((page->start - state->arenas[page->arena].start) / SLICE);
}

/* Returns the address of a part of the page map, and maps the part at its first use. Returns 0,
 * with the heap's failure set, if the mapping fails. */
static uint64_t page_map_part(struct mimalloc3 *state, uint64_t number)
{
    struct heap *heap = &state->mi.heap;
    for (uint32_t i = state->part_count; i-- > 0;) /* the newest part is searched for most often */
        if (state->parts[i].number == number)
            return state->parts[i].address;
    if (!heap_needs(heap, TABLE_SPARE(state->parts, state->part_count, 1, UINT32_MAX,
                                     state->part_capacity)))
        return 0;
    uint32_t id = heap_need(heap, heap_map_segment(heap, SLICES_OF_PART * EIGHT, 1));
    if (id == NO_BLOCK)
        return 0;
    heap_mark(heap, id, STATE_TABLE);
    state->mi.committed += SLICES_OF_PART * EIGHT;
    state->parts[state->part_count++] = (struct page_map_part){number, heap->blocks[id].address};
    return heap->blocks[id].address;
}

/* Writes a page's headers: at the start of a small page, before a larger page that is mapped
 * directly, and among the headers of the page's arena. */
static void touch_header(struct mimalloc3 *state, const struct page *page)
{
    struct heap *heap = &state->mi.heap;
    bool is_small = page->block_size <= LARGEST_SMALL;
    if (is_small)
        heap_touch(heap, page->start, PAGE_HEADER);
    if (page->arena == NO_ARENA) {
        heap_touch(heap, page->start - page->front, is_small ? 0 : PAGE_HEADER);
        return;
    }
    uint64_t offset = page->start - state->arenas[page->arena].start;
    uint64_t place = offset % MAPPING_ALIGNMENT / SLICE * PAGE_HEADER;
    uint64_t count = page->bin == SINGLES ? 1 : page->slices;
    heap_touch(heap, page->start - offset % MAPPING_ALIGNMENT + place, count * PAGE_HEADER);
}

bool arenas_register(struct mimalloc3 *state, const struct page *page)
{
    if (!state->mi.heap.setting.mechanism)
        return true;
    uint64_t first = page->absolute / SLICE;
    uint64_t end = first + (page->slices < MAX_REGISTERED ? page->slices : MAX_REGISTERED);
    while (first < end) {
        uint64_t number = first / SLICES_OF_PART;
        uint64_t stop = (number + 1) * SLICES_OF_PART;
        uint64_t part = page_map_part(state, number);
        if (part == 0)
            return false;
        stop = end < stop ? end : stop;
        heap_touch(&state->mi.heap, part + first % SLICES_OF_PART * EIGHT, (stop - first) * EIGHT);
        first = stop;
    }
    touch_header(state, page);
    return true;
}

void arenas_mark(struct mimalloc3 *state, uint32_t number)
{
    struct page *page = &state->mi.pages[number];
    struct arena *arena = &state->arenas[page->arena];
    struct marks *marks = &arena->marks[page->bin];
    if (marks->bits == NULL)
        marks->bits = calloc(arena->size / SLICE / 64, sizeof(uint64_t));
    if (!heap_needs(&state->mi.heap, marks->bits != NULL))
        return;
    uint32_t index = slice_of(state, page);
    bits_set(marks->bits, index, 1);
    arena->page_at[index] = number;
    marks->count++;
    page->is_marked = true;
}

void arenas_unmark(struct mimalloc3 *state, uint32_t number)
{
    struct page *page = &state->mi.pages[number];
    if (!page->is_marked)
        return;
    struct marks *marks = &state->arenas[page->arena].marks[page->bin];
    bits_clear(marks->bits, slice_of(state, page), 1);
    marks->count--;
    page->is_marked = false;
}

/* Returns the lowest set bit of a chunk, or NO_SLICE. */
static uint32_t lowest_in_chunk(const uint64_t *bits, uint32_t chunk)
{
    for (uint32_t i = chunk * WORDS_OF_CHUNK; i < (chunk + 1) * WORDS_OF_CHUNK; i++)
        if (bits[i] != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(bits[i]);
    return NO_SLICE;
}

/* Returns the first marked slice in a thread's search order. At least one slice must be marked. */
static uint32_t first_marked(const struct arena *arena, const struct marks *marks,
                             uint32_t sequence)
{
    uint32_t chunks = arena->slices.count;
    while (lowest_in_chunk(marks->bits, chunks - 1) == NO_SLICE)
        chunks--;
    struct rotation order = rotation(sequence % SEQUENCES_OF_SEARCH, chunks, chunks);
    uint32_t index = NO_SLICE;
    for (uint32_t place = 0; index == NO_SLICE; place++)
        index = lowest_in_chunk(marks->bits, rotated(&order, place));
    return index;
}

uint32_t arenas_find_marked(const struct mimalloc3 *state, unsigned bin, uint32_t sequence)
{
    struct rotation order = arenas_order(state, sequence);
    for (uint32_t place = 0; place < order.end; place++) {
        const struct arena *arena = &state->arenas[rotated(&order, place)];
        const struct marks *marks = &arena->marks[bin];
        if (marks->count > 0)
            return arena->page_at[first_marked(arena, marks, sequence)];
    }
    return NO_PAGE;
}

static void discard(struct mimalloc3 *state, const struct arena *arena, uint32_t index,
                    uint32_t count)
{
    if (state->purge_decommits)
        heap_discard(&state->mi.heap, arena->start + index * SLICE, count * SLICE);
}

void arenas_purge_later(struct mimalloc3 *state, struct arena *arena, uint32_t index,
                        uint32_t count)
{
    uint64_t delay = state->purge_delay * state->arena_purge_mult;
    if (delay == 0 || count * SLICE >= state->arena_purge_immediate_size) {
        discard(state, arena, index, count);
        return;
    }
    bits_set(arena->purge, index, count);
    if (arena->expire == 0)
        arena->expire = clock_of(&state->mi) + delay;
    if (state->expire == 0)
        state->expire = clock_of(&state->mi) + delay;
}

/* Purges the free slices of a unit, with one call if the whole unit is free. */
static void purge_unit(struct mimalloc3 *state, struct arena *arena, uint32_t index,
                       uint32_t count)
{
    uint32_t first_used = index;
    while (first_used < index + count && slices_are_free(&arena->slices, first_used))
        first_used++;
    uint32_t step = first_used == index + count ? count : 1;
    for (uint32_t place = index; place < index + count; place += step) {
        if (slices_are_free(&arena->slices, place)) {
            slices_put(&arena->slices, place, step);
            discard(state, arena, place, step);
        }
    }
}

/* Purges the free slices of all units whose slices are all scheduled. */
static void purge_arena(struct mimalloc3 *state, struct arena *arena)
{
    uint32_t slices = (uint32_t)(arena->size / SLICE);
    uint32_t unit = (uint32_t)(state->purge_unit / SLICE);
    arena->expire = 0;
    for (uint32_t index = 0; index + unit <= slices; index += unit) {
        if (!bits_have_all(arena->purge, index, unit))
            continue;
        bits_clear(arena->purge, index, unit);
        purge_unit(state, arena, index, unit);
    }
}

void arenas_purge(struct mimalloc3 *state, uint32_t sequence, bool force)
{
    uint64_t time = clock_of(&state->mi);
    if (state->arena_count == 0 || (!force && (state->expire == 0 || state->expire > time)))
        return;
    uint32_t left = force ? state->arena_count : state->arena_count / ARENAS_TO_PURGE_ONE + 1;
    struct rotation order = rotation(sequence, state->arena_count, state->arena_count);
    bool is_waiting = false;
    for (uint32_t place = 0; place < order.end; place++) {
        struct arena *arena = &state->arenas[rotated(&order, place)];
        if (arena->expire == 0)
            continue;
        is_waiting = true;
        if (arena->expire > time && !force)
            continue;
        purge_arena(state, arena);
        if (--left == 0)
            return;
    }
    if (!is_waiting)
        state->expire = 0;
}
