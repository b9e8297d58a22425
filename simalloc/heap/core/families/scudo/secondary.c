/* Scudo's large blocks: a mapping for each, and a cache of freed mappings. */
#include "families/scudo/parts.h"
#include "space/residence.h"
#include "space/table.h"

enum { MAPPING_HEADER = 48, MAX_SKIPPED = 4 * PAGE, MAX_FULL = 5, MILLISECOND = 1000000 };

static uint64_t header_of(const struct scudo *state)
{
    return state->heap.setting.mechanism ? MAPPING_HEADER + GRAIN : 0;
}

static uint64_t guard_of(const struct scudo *state)
{
    return state->heap.setting.mechanism ? PAGE : 0;
}

/* Returns the highest aligned address in a mapping for `size` bytes of the program. */
static uint64_t place_in(const struct mapping *mapping, uint64_t size, uint64_t alignment)
{
    return (mapping->end - size) / alignment * alignment;
}

/* Takes a cached mapping: the first that wastes at most a tenth, or else the last of those with
 * minimum waste. */
static uint32_t take_cached(struct scudo *state, uint64_t size, uint64_t alignment)
{
    struct secondary *secondary = &state->secondary;
    const uint64_t header = header_of(state);
    uint64_t best = state->cache_count_max;
    uint64_t least = UINT64_MAX;
    for (uint64_t slot = 0; slot < state->cache_count_max; slot++) {
        const struct mapping *mapping = &secondary->mappings[secondary->cached[slot]];
        if (secondary->cached[slot] == NOTHING || mapping->end - mapping->start < size + header)
            continue;
        uint64_t position = place_in(mapping, size, alignment);
        if (position < mapping->start + header || position > mapping->start + MAX_SKIPPED)
            continue;
        uint64_t waste = position - header - mapping->start;
        if (waste <= least) {
            best = slot;
            least = waste;
        }
        if (waste <= (mapping->end - position + header) / 10)
            break;
    }
    if (best == state->cache_count_max)
        return NOTHING;
    uint32_t number = secondary->cached[best];
    secondary->cached[best] = NOTHING;
    return number;
}

/* Returns the number of an unused mapping. Returns NOTHING, with the heap's failure set, if memory
 * is exhausted. */
static uint32_t new_mapping(struct scudo *state)
{
    struct secondary *secondary = &state->secondary;
    uint32_t number = secondary->unused;
    if (number != NOTHING) {
        secondary->unused = secondary->mappings[number].block;
        return number;
    }
    if (!heap_needs(&state->heap, TABLE_SPARE(secondary->mappings, secondary->used + 1, 1,
                                              1U << SIZE_BITS, secondary->capacity)))
        return NOTHING;
    return ++secondary->used;
}

/* Maps a segment with a guard page at each end. Returns NOTHING if the capacity does not allow it,
 * or with the heap's failure set if memory is exhausted. */
static uint32_t map(struct scudo *state, uint64_t size, uint64_t alignment)
{
    struct secondary *secondary = &state->secondary;
    struct heap *heap = &state->heap;
    const uint64_t guard = guard_of(state);
    uint64_t spare = alignment > PAGE ? alignment - PAGE : 0;
    uint64_t needed = round_up(round_up(size, alignment) + header_of(state), PAGE);
    if (!heap_has_room(heap, needed + spare + 2 * guard))
        return NOTHING;
    uint32_t number = new_mapping(state);
    if (number == NOTHING)
        return NOTHING;
    uint32_t block = heap_map_segment(heap, needed + spare + 2 * guard, PAGE);
    if (block == NO_BLOCK)
        return NOTHING;
    uint64_t base = heap->blocks[block].address;
    heap_mark(heap, block, STATE_CACHED);
    struct mapping *mapping = &secondary->mappings[number];
    *mapping = (struct mapping){
        .base = base,
        .size = needed + spare + 2 * guard,
        .start = base + guard,
        .end = base + needed + spare + guard,
        .ordinal = secondary->count++,
        .block = block,
    };
    if (spare > 0 && guard > 0)
        mapping->start = (mapping->start / alignment + 1) * alignment - PAGE;
    secondary->mapped += mapping->size;
    secondary->live++;
    heap->counters.growths++;
    return number;
}

static void unmap(struct scudo *state, uint32_t number)
{
    struct secondary *secondary = &state->secondary;
    struct mapping *mapping = &secondary->mappings[number];
    heap_unmap_segment(&state->heap, mapping->block);
    secondary->mapped -= mapping->size;
    secondary->live--;
    mapping->block = secondary->unused;
    secondary->unused = number;
}

/* Cuts the single block of a mapping into waste with the header, the program's block, and the guard
 * page. Returns the program's block. */
static uint32_t cut(struct scudo *state, const struct mapping *mapping, uint64_t position)
{
    struct heap *heap = &state->heap;
    uint32_t waste = mapping->block;
    uint32_t block = waste;
    heap_mark(heap, waste, STATE_WASTE);
    if (guard_of(state) > 0)
        heap_cut_off(heap, waste, mapping->end - mapping->base);
    uint64_t in_front = position - payload_of(state) - mapping->base;
    if (in_front > 0)
        block = heap_cut_off(heap, waste, in_front);
    if (header_of(state) > 0)
        heap_mark(heap, heap_cut_off(heap, waste, in_front - MAPPING_HEADER), STATE_TABLE);
    heap_mark(heap, block, STATE_ALLOCATED);
    return block;
}

uint32_t scudo_allocate_large(struct scudo *state, uint64_t size, uint64_t alignment)
{
    struct heap *heap = &state->heap;
    const uint64_t header = header_of(state);
    uint32_t number = NOTHING;
    if (!heap_reserve_more(heap, 5))
        return NO_BLOCK;
    if (alignment < PAGE && round_up(size + header, PAGE) <= state->largest_cached)
        number = take_cached(state, size, alignment);
    if (number == NOTHING)
        number = map(state, size, alignment);
    if (number == NOTHING)
        return NO_BLOCK;
    struct mapping *mapping = &state->secondary.mappings[number];
    uint64_t position = place_in(mapping, size, alignment);
    uint32_t block = cut(state, mapping, position);
    mapping->asked = size;
    heap->blocks[block].family_data = number;
    heap_touch(heap, position - header, header);
    return block;
}

/* Joins all blocks of a mapping into one cached block. */
static void join(struct scudo *state, struct mapping *mapping, uint32_t block)
{
    struct heap *heap = &state->heap;
    heap_mark(heap, block, STATE_WASTE);
    while (heap->blocks[block].address > mapping->base)
        heap_join_previous(heap, block);
    if (heap->blocks[block].size < mapping->size)
        heap_join_next(heap, block);
    heap_mark(heap, block, STATE_CACHED);
    mapping->block = block;
}

/* Purges the pages of a mapping. */
static void clear(struct scudo *state, struct mapping *mapping)
{
    scudo_give_back(state, mapping->start, mapping->end - mapping->start);
    mapping->time = 0;
}

/* Purges the pages of all mappings that were cached at `latest` or before. */
static void clear_until(struct scudo *state, uint64_t latest)
{
    struct secondary *secondary = &state->secondary;
    secondary->oldest = 0;
    for (uint64_t slot = 0; slot < state->cache_count_max; slot++) {
        struct mapping *mapping = &secondary->mappings[secondary->cached[slot]];
        if (secondary->cached[slot] == NOTHING || mapping->time == 0)
            continue;
        if (mapping->time <= latest)
            clear(state, mapping);
        else if (secondary->oldest == 0 || mapping->time < secondary->oldest)
            secondary->oldest = mapping->time;
    }
}

/* Purges the pages of mappings that have been cached for at least the interval. */
static void clear_older(struct scudo *state, uint64_t now)
{
    /* a negative time wraps to a huge one */
    uint64_t latest = now - (state->secondary_interval - 1) * MILLISECOND;
    uint64_t oldest = state->secondary.oldest;
    if (state->secondary_interval > 0 && oldest > 0 && oldest <= latest)
        clear_until(state, latest);
}

void scudo_clear_cached(struct scudo *state)
{
    if (state->secondary.oldest > 0)
        clear_until(state, UINT64_MAX);
}

static void unmap_cached(struct scudo *state)
{
    struct secondary *secondary = &state->secondary;
    for (uint64_t slot = 0; slot < state->cache_count_max; slot++) {
        if (secondary->cached[slot] != NOTHING)
            unmap(state, secondary->cached[slot]);
        secondary->cached[slot] = NOTHING;
    }
    secondary->found_full = 0;
}

/* Stores a mapping in the first slot, and moves the previous first mapping to the first free slot.
 * Returns false if no slot is free. */
static bool store(struct scudo *state, uint32_t number)
{
    struct secondary *secondary = &state->secondary;
    for (uint64_t slot = 0; slot < state->cache_count_max; slot++) {
        if (secondary->cached[slot] != NOTHING)
            continue;
        secondary->cached[slot] = secondary->cached[0];
        secondary->cached[0] = number;
        if (secondary->oldest == 0)
            secondary->oldest = secondary->mappings[number].time;
        return true;
    }
    return false;
}

void scudo_free_large(struct scudo *state, uint32_t id, uint64_t now)
{
    struct secondary *secondary = &state->secondary;
    uint32_t number = state->heap.blocks[id].family_data;
    struct mapping *mapping = &secondary->mappings[number];
    join(state, mapping, id);
    if (state->cache_count_max == 0 || mapping->end - mapping->start > state->largest_cached) {
        unmap(state, number);
        return;
    }
    mapping->time = now;
    if (state->secondary_interval == 1)
        clear(state, mapping);
    bool is_stored = store(state, number);
    if (!is_stored && ++secondary->found_full == MAX_FULL)
        unmap_cached(state);
    else
        clear_older(state, now);
    if (!is_stored)
        unmap(state, number);
}
