/* Sources of mimalloc 3's slices: arenas, and direct mappings. */
#include "families/mimalloc3/mimalloc3.h"

#include <stdlib.h>

enum {
    HEADER_SLICES = 8,       /* slices for page headers in each MAPPING_ALIGNMENT bytes */
    LARGEST_IN_ARENA = 4088, /* largest run in slices that is searched for in arenas */
    MAPS_BY_SLICE = 65,      /* number of bitmaps with a header and a bit for each slice */
};

#define LARGEST_ARENA (16 * 1024 * MIB)

/* Maps a segment, and stores the address that it would have in the real process. */
static uint32_t map_segment(struct mimalloc3 *state, uint64_t size, uint64_t alignment,
                            uint64_t *absolute)
{
    uint32_t id = heap_map_segment(&state->mi.heap, size, alignment);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    *absolute = round_up(state->mi.hint, MAPPING_ALIGNMENT);
    state->mi.hint = round_up(state->mi.hint + size + 4096 + MAPPING_ALIGNMENT - 1, 2 * MIB);
    return id;
}

/* Marks free slices as used. Returns one block of them. */
static uint32_t cut_out(struct mimalloc3 *state, struct arena *arena, uint32_t index,
                        uint32_t count)
{
    struct heap *heap = &state->mi.heap;
    uint32_t first = index;
    while (first > 0 && slices_are_free(&arena->slices, first - 1))
        first--;
    uint32_t id = arena->block_at[first];
    if (first < index)
        id = heap_cut_off(heap, id, (index - first) * SLICE);
    if (heap->blocks[id].size > count * SLICE)
        arena->block_at[index + count] = heap_cut_off(heap, id, count * SLICE);
    slices_take(&arena->slices, index, count);
    return id;
}

/* Allocates the slices of an arena's bitmaps and of its page headers. */
static void make_tables(struct mimalloc3 *state, struct arena *arena)
{
    uint64_t map_size = arena->size / CHUNK_SIZE * (CHUNK / 8);
    uint64_t bitmaps = 704 + MAPS_BY_SLICE * (128 + map_size) + 448 + map_size;
    for (uint64_t part = 0; part < arena->size; part += MAPPING_ALIGNMENT) {
        uint64_t count = HEADER_SLICES + (part == 0 ? round_up(bitmaps, SLICE) / SLICE : 0);
        uint32_t id = cut_out(state, arena, (uint32_t)(part / SLICE), (uint32_t)count);
        heap_mark(&state->mi.heap, id, STATE_TABLE);
        state->mi.committed += state->arena_eager_commit ? 0 : count * SLICE;
    }
    heap_touch(&state->mi.heap, arena->start + HEADER_SLICES * SLICE, bitmaps - map_size);
}

static bool make_arrays(struct arena *arena)
{
    uint64_t slices = arena->size / SLICE;
    arena->committed = calloc(slices / 64, sizeof(uint64_t));
    arena->purge = calloc(slices / 64, sizeof(uint64_t));
    arena->block_at = calloc(slices, sizeof(uint32_t));
    arena->page_at = calloc(slices, sizeof(uint32_t));
    return slices_init(&arena->slices, (uint32_t)(slices / CHUNK)) && arena->committed != NULL &&
           arena->purge != NULL && arena->block_at != NULL && arena->page_at != NULL;
}

/* Reserves an arena for at least `slices`, unless they exceed the largest arena. */
static bool make_arena(struct mimalloc3 *state, uint32_t slices)
{
    struct heap *heap = &state->mi.heap;
    uint64_t size = state->arena_reserve << state->arena_count / 8;
    uint64_t least = round_up(slices * SLICE, CHUNK_SIZE) + CHUNK_SIZE;
    size = size > LARGEST_ARENA ? LARGEST_ARENA : size;
    size = size < least ? least : size;
    if (!heap_needs(heap, TABLE_SPARE(state->arenas, state->arena_count, 1, UINT32_MAX,
                                      state->arena_capacity)) ||
        !heap_reserve_more(heap, 2 * (size / MAPPING_ALIGNMENT + 2)))
        return false;
    struct arena *arena = &state->arenas[state->arena_count];
    *arena = (struct arena){.size = size};
    uint32_t id = map_segment(state, size, MAPPING_ALIGNMENT, &arena->absolute);
    if (id == NO_BLOCK)
        return false;
    state->arena_count++;
    arena->start = heap->blocks[id].address;
    if (!heap_needs(heap, make_arrays(arena)))
        return false;
    heap_mark(heap, id, STATE_FREE);
    if (state->allow_thp && state->arena_eager_commit)
        heap_use_huge_pages(heap, arena->start, size);
    heap->counters.growths++;
    arena->block_at[0] = id;
    if (heap->setting.mechanism)
        make_tables(state, arena);
    return true;
}

struct rotation arenas_order(const struct mimalloc3 *state, uint32_t sequence)
{
    uint32_t others = state->arena_count > 1 ? state->arena_count - 1 : 1;
    return rotation(sequence, others, state->arena_count);
}

static struct run take_in_arenas(struct mimalloc3 *state, uint32_t slices, uint32_t sequence)
{
    struct rotation order = arenas_order(state, sequence);
    for (uint32_t place = 0; place < order.end; place++) {
        uint32_t number = rotated(&order, place);
        struct arena *arena = &state->arenas[number];
        uint32_t index = slices_find(&arena->slices, slices, sequence);
        if (index == NO_SLICE)
            continue;
        uint32_t id = cut_out(state, arena, index, slices);
        slices_keep_for(&arena->slices, index, slices);
        heap_mark(&state->mi.heap, id, STATE_WASTE);
        uint32_t first_used = bits_set(arena->committed, index, slices);
        state->mi.committed += first_used * SLICE;
        return (struct run){
            .start = arena->start + index * SLICE,
            .absolute = arena->absolute + index * SLICE,
            .arena = number,
            .is_new = first_used == slices,
            .block = id,
        };
    }
    return (struct run){.block = NO_BLOCK};
}

struct run arenas_map_page(struct mimalloc3 *state, uint32_t slices, uint64_t alignment)
{
    struct heap *heap = &state->mi.heap;
    uint64_t room = slices * SLICE;
    uint64_t front = !heap->setting.mechanism ? 0 : alignment == 0 ? SLICE : alignment;
    uint64_t size = system_size(room + front, SLICE);
    struct run run = {.front = front, .arena = NO_ARENA, .is_new = true};
    if (alignment < MAPPING_ALIGNMENT)
        alignment = MAPPING_ALIGNMENT;
    run.block = map_segment(state, size, alignment, &run.absolute);
    if (run.block == NO_BLOCK)
        return run;
    run.start = heap->blocks[run.block].address + front;
    run.absolute += front;
    state->mi.committed += room;
    if (front > 0) {
        uint32_t low = run.block;
        run.block = heap_cut_off(heap, low, front);
        heap_mark(heap, low, STATE_TABLE);
    }
    if (size > front + room)
        heap_mark(heap, heap_cut_off(heap, run.block, room), STATE_WASTE);
    return run;
}

struct run arenas_take(struct mimalloc3 *state, uint32_t slices, uint32_t sequence)
{
    if (slices > LARGEST_IN_ARENA || state->disallow_arena_alloc)
        return arenas_map_page(state, slices, 0);
    struct run run = take_in_arenas(state, slices, sequence);
    if (run.block == NO_BLOCK && make_arena(state, slices))
        run = take_in_arenas(state, slices, sequence);
    return run.block == NO_BLOCK && state->mi.heap.failure == NULL ? arenas_map_page(state, slices, 0) : run;
}

/* Joins all blocks of a mapping and unmaps it. */
static void unmap(struct mimalloc3 *state, const struct page *page)
{
    struct heap *heap = &state->mi.heap;
    uint32_t id = page->base;
    if (page->front > 0) {
        heap_mark(heap, heap->blocks[id].previous, STATE_WASTE);
        heap_join_previous(heap, id);
    }
    if (heap->blocks[id].next != heap->blocks[id].previous)
        heap_join_next(heap, id);
    state->mi.committed -= heap->blocks[id].size - page->front;
    heap_unmap_segment(heap, id);
}

void arenas_give(struct mimalloc3 *state, const struct page *page)
{
    struct heap *heap = &state->mi.heap;
    if (page->arena == NO_ARENA) {
        unmap(state, page);
        return;
    }
    struct arena *arena = &state->arenas[page->arena];
    uint32_t index = (uint32_t)((page->start - arena->start) / SLICE);
    uint32_t first = index;
    arenas_purge_later(state, arena, index, page->slices);
    if (slices_are_free(&arena->slices, index + page->slices)) {
        heap_mark(heap, heap->blocks[page->base].next, STATE_WASTE);
        heap_join_next(heap, page->base);
    }
    if (index > 0 && slices_are_free(&arena->slices, index - 1)) {
        uint32_t before = heap->blocks[page->base].previous;
        first = (uint32_t)((heap->blocks[before].address - arena->start) / SLICE);
        heap_mark(heap, before, STATE_WASTE);
        heap_join_previous(heap, page->base);
    }
    arena->block_at[first] = page->base;
    heap_mark(heap, page->base, STATE_FREE);
    slices_put(&arena->slices, index, page->slices);
}

void arenas_release(struct mimalloc3 *state)
{
    for (uint32_t i = 0; i < state->arena_count; i++) {
        struct arena *arena = &state->arenas[i];
        for (unsigned bin = 0; bin < QUEUES; bin++)
            free(arena->marks[bin].bits);
        free(arena->slices.chunks);
        free(arena->committed);
        free(arena->purge);
        free(arena->block_at);
        free(arena->page_at);
    }
    table_release(state->arenas);
    table_release(state->parts);
}
