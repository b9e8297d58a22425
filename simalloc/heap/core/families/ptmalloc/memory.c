/* Memory that glibc's malloc obtains from the system and returns to it: the break, the heaps of
 * arenas, and mapped blocks. */
#include "families/ptmalloc/lists.h"

static const uint64_t thresholds_below = UINT64_C(32) << 20;
static const uint64_t min_heap = 32768;

static uint64_t top_size(const struct ptmalloc *state, const struct arena *arena)
{
    return arena->top == NO_BLOCK ? 0 : size_of(state, arena->top);
}

/* Merges new memory, which belongs to no list yet, with the top, or makes it the top. */
static void add_to_top(struct ptmalloc *state, struct arena *arena, uint32_t id)
{
    if (arena->top != NO_BLOCK) {
        take_top(state, arena);
        heap_join_previous(&state->heap, id);
        state->heap.counters.coalescings++;
    }
    set_top(state, arena, id);
}

/* Raises the break for the main arena. Returns false, possibly with the heap's failure set, if that
 * is impossible. */
static bool raise_break(struct ptmalloc *state, uint64_t rise)
{
    uint32_t id = heap_extend(&state->heap, rise);
    if (id == NO_BLOCK)
        return false;
    state->heap.counters.growths++;
    state->arenas[0]->system += rise;
    add_to_top(state, state->arenas[0], id);
    return true;
}

/* Extends the top within the arena's last heap. Returns false if the heap or the capacity is too
 * small. */
static bool grow_heap(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    struct heap *heap = &state->heap;
    struct arena_heap *last = &arena->heaps[arena->heap_count - 1];
    uint64_t rise = round_up(size + state->keep - top_size(state, arena), state->growth);
    if (rise > state->heap_max - last->size || !heap_has_room(heap, rise))
        return false;
    uint32_t id = heap->blocks[last->edge].previous; /* hole above the top */
    if (size_of(state, id) > rise) {
        id = heap_cut_low(heap, id, rise);
        heap->blocks[id].index_slot = STATE_HOLE;
    }
    heap_map(heap, id);
    heap->counters.growths++;
    arena->system += rise;
    last->size += rise;
    if (last->size > last->ever)
        last->ever = last->size;
    add_to_top(state, arena, id);
    return true;
}

static struct arena_heap *new_heap(struct arena *arena)
{
    bool has_room = TABLE_SPARE(arena->heaps, arena->heap_count, 1, UINT32_MAX,
                                arena->heap_capacity);
    return has_room ? &arena->heaps[arena->heap_count] : NULL;
}

/* Maps a heap of `size` bytes plus the part of the pad that fits. The first `info` bytes are a
 * table, and the remainder is the top. Returns false if `size` exceeds a heap, if the capacity does
 * not allow it, or if the heap has failed. */
static bool map_heap(struct ptmalloc *state, struct arena *arena, uint64_t size, uint64_t info)
{
    struct heap *heap = &state->heap;
    if (size > state->heap_max)
        return false;
    uint64_t padded = size + state->top_pad;
    uint64_t begun = round_up(padded < min_heap ? min_heap : padded, state->growth);
    if (begun > state->heap_max)
        begun = state->heap_max;
    if (!heap_has_room(heap, begun))
        return false;
    struct arena_heap *made = new_heap(arena);
    uint32_t id = made == NULL ? NO_BLOCK : heap_reserve_segment(heap, HEAP_SIZE, HEAP_SIZE);
    if (made == NULL)
        heap_fail(heap, OUT_OF_MEMORY);
    if (id == NO_BLOCK)
        return false;
    *made = (struct arena_heap){heap->blocks[id].address, begun, begun, heap->blocks[id].next};
    arena->heap_count++;
    arena->system += begun;
    heap->counters.growths++;
    if (begun < HEAP_SIZE) {
        heap->blocks[heap_cut_high(heap, id, begun)].index_slot = STATE_HOLE;
        heap->counters.system_calls++; /* the call that reserves the whole heap */
    }
    heap_map(heap, id);
    if (info > 0) {
        heap->blocks[heap_cut_low(heap, id, info)].index_slot = STATE_TABLE;
        heap_touch(heap, made->base, info);
    }
    set_top(state, arena, id);
    return true;
}

/* Frees the old top of a full heap, except for a fence at its end, which is never freed. */
static void end_heap(struct ptmalloc *state, uint32_t old)
{
    struct heap *heap = &state->heap;
    uint64_t size = size_of(state, old);
    uint64_t usable = size - state->keep;
    if (state->word > 0)
        usable -= usable % heap->setting.alignment;
    heap_touch(heap, heap->blocks[old].address + size - 3 * state->word, 3 * state->word);
    if (usable < heap->setting.minimum) {
        heap->blocks[old].index_slot = STATE_WASTE;
        write_head(state, old);
        return;
    }
    if (usable < size)
        heap->blocks[heap_cut_high(heap, old, usable)].index_slot = STATE_WASTE;
    ptmalloc_free_own(state, old);
}

/* Maps another heap for an arena, and ends the current one. Returns false if no heap can hold
 * `size` bytes, or if the heap has failed. */
static bool add_heap(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    uint32_t old = arena->top == NO_BLOCK ? NO_BLOCK : take_top(state, arena);
    if (map_heap(state, arena, size + state->keep + state->heap_info, state->heap_info)) {
        if (old != NO_BLOCK)
            end_heap(state, old);
        return true;
    }
    if (old != NO_BLOCK)
        set_top(state, arena, old);
    return false;
}

bool memory_grow(struct ptmalloc *state, struct arena *arena, uint64_t size)
{
    uint64_t wanted = size + state->top_pad + state->keep - top_size(state, arena);
    if (arena->number == 0)
        return raise_break(state, round_up(wanted, state->growth));
    return grow_heap(state, arena, size) || add_heap(state, arena, size);
}

bool memory_begin_arena(struct ptmalloc *state, struct arena *arena, uint64_t asked)
{
    return map_heap(state, arena, asked + state->arena_first, state->arena_info) ||
           (state->heap.failure == NULL &&
            map_heap(state, arena, state->arena_first, state->arena_info));
}

static void lower_top(struct ptmalloc *state, struct arena *arena, uint64_t pad)
{
    struct heap *heap = &state->heap;
    uint64_t stays = state->keep + 1 + pad;
    uint64_t size = top_size(state, arena);
    if (size < stays || size - stays < state->growth)
        return;
    uint64_t falls = (size - stays) / state->growth * state->growth;
    arena->system -= falls;
    if (arena->number == 0) {
        heap_lower(heap, falls);
        return;
    }
    arena->heaps[arena->heap_count - 1].size -= falls;
    uint32_t hole = heap_cut_high(heap, arena->top, size - falls);
    heap->blocks[hole].index_slot = STATE_WASTE;
    heap_unmap(heap, hole);
    if (size_of(state, heap->blocks[hole].next) > 0)
        heap_join_next(heap, hole);
}

/* Returns the lowest block that becomes the top when the next heap is removed: the free block
 * before a heap's fence, or the fence. Returns NO_BLOCK if the heap has neither. */
static uint32_t tail_of(const struct ptmalloc *state, const struct arena_heap *before)
{
    const struct block *blocks = state->heap.blocks;
    uint32_t last = blocks[before->edge].previous;
    if (blocks[last].index_slot == STATE_HOLE)
        last = blocks[last].previous;
    uint32_t tail = NO_BLOCK;
    if (blocks[last].index_slot == STATE_WASTE) {
        tail = last;
        last = blocks[last].previous;
    }
    return heap_is_free(&state->heap, last) ? last : tail;
}

/* Unmaps the last heap. The top must fill this heap. */
static void unmap_heap(struct ptmalloc *state, struct arena *arena)
{
    struct heap *heap = &state->heap;
    const struct arena_heap *last = &arena->heaps[--arena->heap_count];
    arena->system -= last->size;
    take_top(state, arena);
    uint32_t id = heap->blocks[last->edge].next;
    const uint64_t limit = heap->limit;
    /* the limit must not refuse the mapping of holes, because they are unmapped at once */
    heap->limit = UINT64_MAX;
    while (heap->blocks[id].next != last->edge) {
        if (heap->blocks[heap->blocks[id].next].index_slot == STATE_HOLE)
            heap_map(heap, heap->blocks[id].next);
        heap_join_next(heap, id);
    }
    heap->blocks[id].index_slot = STATE_WASTE;
    heap_unmap_segment(heap, id);
    heap->limit = limit;
}

/* Makes the end of a heap, from block `tail` on, the top again. */
static void reopen_heap(struct ptmalloc *state, struct arena *arena, uint32_t tail)
{
    struct heap *heap = &state->heap;
    if (heap_is_free(heap, tail))
        take_out(state, arena, tail);
    if (heap->blocks[heap->blocks[tail].next].index_slot == STATE_WASTE) {
        heap_join_next(heap, tail);
        heap->counters.coalescings++;
    }
    set_top(state, arena, tail);
}

/* Unmaps the last heap while it is all top and the previous heap has enough memory left. */
static void unmap_empty_heaps(struct ptmalloc *state, struct arena *arena)
{
    while (arena->heap_count > 1 && arena->top != NO_BLOCK) {
        const struct arena_heap *last = &arena->heaps[arena->heap_count - 1];
        if (state->heap.blocks[arena->top].address != last->base + state->heap_info)
            return;
        const struct arena_heap *before = last - 1;
        uint32_t tail = tail_of(state, before);
        uint64_t from = tail == NO_BLOCK ? before->base + before->size
                                         : state->heap.blocks[tail].address;
        if (before->base + state->heap_max - from < state->top_pad + state->keep + state->growth)
            return;
        unmap_heap(state, arena);
        if (tail != NO_BLOCK)
            reopen_heap(state, arena, tail);
    }
}

void memory_trim(struct ptmalloc *state, struct arena *arena)
{
    unmap_empty_heaps(state, arena);
    if (arena->top != NO_BLOCK && size_of(state, arena->top) >= state->trim_threshold)
        lower_top(state, arena, state->top_pad);
}

void memory_give_back_top(struct ptmalloc *state)
{
    struct arena *arena = state->arenas[0];
    if (arena->top != NO_BLOCK && size_of(state, arena->top) <= state->keep)
        raise_break(state, state->growth);
    else
        lower_top(state, arena, 0);
}

static uint64_t mapping_of(const struct ptmalloc *state, uint64_t size)
{
    return round_up(size + state->word, state->growth);
}

bool memory_may_map(struct ptmalloc *state, uint64_t size)
{
    return size >= state->mmap_threshold && state->mapped_count < state->mmap_max &&
           heap_has_room(&state->heap, mapping_of(state, size));
}

uint32_t memory_map(struct ptmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = heap_map_segment(heap, mapping_of(state, size), 1);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    heap->blocks[id].family_data = IS_MAPPED;
    heap_touch(heap, heap->blocks[id].address, 2 * state->word);
    state->mapped_count++;
    return id;
}

/* Unmaps a mapped block and the memory in front of its object. */
static void unmap_whole(struct ptmalloc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    state->mapped_count--;
    if (size_of(state, heap->blocks[id].previous) > 0)
        heap_join_previous(heap, id);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap_unmap_segment(heap, id);
}

void memory_unmap(struct ptmalloc *state, uint32_t id)
{
    uint64_t size = chunk_size(state, id);
    unmap_whole(state, id);
    if (state->adjusts && size >= state->mmap_threshold && size < thresholds_below) {
        state->mmap_threshold = size;
        state->trim_threshold = 2 * size;
    }
}

uint32_t memory_remap(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t old = mapped_bytes(state, id);
    uint64_t front = old - size_of(state, id);
    uint64_t wanted = round_up(front + size + state->word, state->growth);
    if (wanted == old)
        return id;
    if (wanted > old && !heap_has_room(heap, wanted - old))
        return heap_refuse(heap);
    uint32_t other = heap_map_in_place_of(heap, wanted, old);
    if (other == NO_BLOCK)
        return NO_BLOCK;
    heap_take_pages(heap, heap->blocks[other].address, heap->blocks[id].address - front,
                    wanted < old ? wanted : old);
    heap->counters.allocated -= size_of(state, id);
    unmap_whole(state, id);
    if (front > 0)
        heap->blocks[heap_cut_low(heap, other, front)].index_slot = STATE_WASTE;
    heap->blocks[other].index_slot = STATE_ALLOCATED;
    heap->blocks[other].family_data = IS_MAPPED;
    state->mapped_count++;
    return use_whole(state, other);
}
