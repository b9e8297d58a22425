#include "families/jemalloc/space.h"

/* segments have the same addresses as in Linux's placement, modulo this size */
#define WINDOW (UINT64_C(1) << 30)
/* bytes of addresses that a leaf of the address tree covers */
#define LEAF_SPAN (UINT64_C(1) << 30)
#define LEAF_BYTES (UINT64_C(2) << 20)

/* Returns the address of a new mapping in Linux's placement: below the previous mapping. Mappings
 * of whole huge pages are aligned to a huge page. */
static uint64_t place_mapping(struct jemalloc *state, uint64_t size, uint64_t alignment)
{
    if (size % HUGE_PAGE == 0 && alignment < HUGE_PAGE)
        alignment = HUGE_PAGE;
    state->top = (state->top - size) & ~(alignment - 1);
    return state->top;
}

struct table_block *jemalloc_add_table_block(struct jemalloc *state, struct metadata *tables,
                                             uint64_t size)
{
    if (!heap_needs(&state->heap, TABLE_SPARE(tables->blocks, tables->count, 1, UINT32_MAX,
                                              tables->capacity)))
        return NULL;
    place_mapping(state, size, PAGE);
    uint32_t block = heap_need(&state->heap, heap_map_segment(&state->heap, size, 1));
    if (block == NO_BLOCK)
        return NULL;
    heap_mark(&state->heap, block, STATE_TABLE);
    struct table_block *added = &tables->blocks[tables->count++];
    *added = (struct table_block){.address = state->heap.blocks[block].address, .size = size};
    return added;
}

/* Returns the class of the remainder of a metadata block. */
ALWAYS_INLINE uint64_t table_room(const struct table_block *block)
{
    return class_below(block->size - block->used, TABLE_QUANTUM);
}

/* Returns the metadata block with the smallest sufficient remainder, or a new block. Returns NULL
 * if memory is exhausted. */
static struct table_block *find_table_block(struct jemalloc *state, struct metadata *tables,
                                                   uint64_t size, uint64_t alignment)
{
    uint64_t rounded = round_up_to_power(size, alignment);
    uint64_t wanted = class_above(rounded + alignment - TABLE_QUANTUM, TABLE_QUANTUM);
    struct table_block *best = NULL;
    for (uint32_t i = 0; i < tables->count; i++) {
        struct table_block *block = &tables->blocks[i];
        if (table_room(block) >= wanted && (best == NULL || table_room(block) < table_room(best)))
            best = block;
    }
    if (best != NULL)
        return best;
    uint64_t least = class_above(round_up_to_power(TABLE_HEADER, alignment) + rounded, PAGE);
    uint64_t next = class_above(tables->blocks[tables->count - 1].size + 1, PAGE);
    struct table_block *added = jemalloc_add_table_block(
        state, tables, round_up_to_power(least > next ? least : next, HUGE_PAGE));
    if (added != NULL) {
        added->used = TABLE_HEADER;
        heap_touch(&state->heap, added->address, TABLE_HEADER);
        tables->allocated += TABLE_HEADER;
    }
    return added;
}

uint64_t jemalloc_allocate_table(struct jemalloc *state, struct metadata *tables, uint64_t size,
                                 uint64_t alignment)
{
    if (!state->heap.setting.mechanism)
        return 0;
    struct table_block *block = find_table_block(state, tables, size, alignment);
    if (block == NULL)
        return 0;
    uint64_t start = round_up_to_power(block->used, alignment);
    block->used = start + size;
    tables->allocated += size;
    return block->address + start;
}

bool jemalloc_reserve_extents(struct jemalloc *state)
{
    enum { SPARE = 16 };
    struct extent_table *extents = &state->extents;
    if (!heap_needs(&state->heap, TABLE_SPARE(extents->at, extents->used, SPARE, UINT32_MAX,
                                              extents->capacity)))
        return false;
    if (extents->used == 0)
        extents->at[extents->used++] = (struct extent){.address = 0};
    return true;
}

/* Returns a new extent, for which jemalloc_reserve_extents() has reserved memory. Its record may
 * need metadata. */
static uint32_t new_extent(struct jemalloc *state, struct arena *arena)
{
    if (++arena->records > arena->max_records) {
        arena->max_records = arena->records;
        uint64_t address = jemalloc_allocate_table(state, &arena->metadata, RECORD, RECORD);
        if (address != 0)
            heap_touch(&state->heap, address, RECORD);
    }
    struct extent_table *extents = &state->extents;
    uint32_t number = extents->unused;
    if (number == NO_EXTENT)
        number = extents->used++;
    else
        extents->unused = extents->at[number].newer;
    return number;
}

static void drop_extent(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    arena->records--;
    extent_at(state, number)->newer = state->extents.unused;
    state->extents.unused = number;
}

/* Returns the address of a leaf of the address tree, and makes the leaf if necessary. Returns 0 if
 * memory is exhausted. */
static uint64_t find_leaf(struct jemalloc *state, uint64_t number)
{
    for (uint32_t i = state->leaf_count; i > 0; i--)
        if (state->leaves[i - 1].number == number)
            return state->leaves[i - 1].address;
    if (!heap_needs(&state->heap, TABLE_SPARE(state->leaves, state->leaf_count, 1, UINT32_MAX,
                                              state->leaf_capacity)))
        return 0;
    uint64_t address =
        jemalloc_allocate_table(state, &state->arenas[0]->metadata, LEAF_BYTES, CACHE_LINE);
    state->leaves[state->leaf_count++] = (struct leaf){number, address};
    return address;
}

void jemalloc_register_page(struct jemalloc *state, uint32_t mapping, uint64_t address)
{
    if (!state->heap.setting.mechanism)
        return;
    uint64_t place = address + state->mappings[mapping].shift;
    uint64_t leaf = find_leaf(state, place / LEAF_SPAN);
    if (leaf != 0)
        heap_touch(&state->heap, leaf + place % LEAF_SPAN / PAGE * 8, 8);
}

/* Maps a segment at `place` modulo WINDOW. The part of the window below it is a hole. Returns the
 * segment's block, which may be a hole, or NO_BLOCK if memory or addresses are exhausted. */
static uint32_t map_at(struct heap *heap, uint64_t place, uint64_t size)
{
    uint64_t below = place % WINDOW;
    uint32_t block = heap_reserve_segment(heap, below + size, WINDOW);
    if (block == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.system_calls += 2; /* one call maps, the other makes the hole */
    if (below > 0)
        heap->blocks[heap_cut_low(heap, block, below)].index_slot = STATE_HOLE;
    heap->counters.growths++;
    return block;
}

uint32_t jemalloc_map_extent(struct jemalloc *state, struct arena *arena, uint64_t size,
                             uint64_t alignment)
{
    struct heap *heap = &state->heap;
    if (!heap_needs(heap, TABLE_SPARE(state->mappings, state->mapping_count, 1, UINT32_MAX,
                                      state->mapping_capacity)))
        return NO_EXTENT;
    uint32_t number = new_extent(state, arena);
    uint64_t place = place_mapping(state, size, alignment);
    uint32_t block = map_at(heap, place, size);
    if (block == NO_BLOCK)
        return NO_EXTENT;
    uint64_t address = heap->blocks[block].address;
    uint32_t mapping = state->mapping_count++;
    state->mappings[mapping] = (struct mapping){.address = address, .shift = place - address};
    *extent_at(state, number) = (struct extent){.address = address,
                                                .size = size,
                                                .block = block,
                                                .arena = arena->number,
                                                .mapping = mapping,
                                                .use = ACTIVE,
                                                .is_zero = true};
    jemalloc_register_page(state, mapping, address);
    jemalloc_register_page(state, mapping, address + size - PAGE);
    return number;
}

uint32_t jemalloc_split_extent(struct jemalloc *state, struct arena *arena, uint32_t number,
                               uint64_t size)
{
    uint32_t rest = new_extent(state, arena);
    struct extent *low = extent_at(state, number);
    struct extent *high = extent_at(state, rest);
    *high = (struct extent){.address = low->address + size,
                            .size = low->size - size,
                            .block = heap_cut_off(&state->heap, low->block, size),
                            .arena = low->arena,
                            .mapping = low->mapping,
                            .below = number,
                            .above = low->above,
                            .use = ACTIVE,
                            .is_zero = low->is_zero};
    extent_at(state, low->above)->below = rest;
    low->above = rest;
    low->size = size;
    state->heap.counters.splits++;
    jemalloc_register_page(state, high->mapping, high->address - PAGE);
    jemalloc_register_page(state, high->mapping, high->address);
    return rest;
}

void jemalloc_merge_extents(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct extent *low = extent_at(state, number);
    uint32_t above = low->above;
    struct extent *high = extent_at(state, above);
    heap->counters.free_blocks -= heap_is_free(heap, high->block);
    heap_join_next(heap, low->block);
    low->size += high->size;
    low->above = high->above;
    extent_at(state, low->above)->below = number;
    heap->counters.coalescings++;
    drop_extent(state, arena, above);
}

void jemalloc_forget_extent(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    const struct extent *extent = extent_at(state, number);
    extent_at(state, extent->below)->above = NO_EXTENT;
    extent_at(state, extent->above)->below = NO_EXTENT;
    drop_extent(state, arena, number);
}

void jemalloc_set_state(struct jemalloc *state, uint32_t number, uint32_t block_state)
{
    struct heap *heap = &state->heap;
    uint32_t block = extent_at(state, number)->block;
    bool was_hole = heap->blocks[block].index_slot == STATE_HOLE;
    if (block_state == STATE_HOLE && !was_hole) {
        heap_unmap(heap, block);
    } else if (block_state != STATE_HOLE) {
        if (was_hole && !heap_map(heap, block)) {
            heap_exhaust(heap);
            return;
        }
        heap_mark(heap, block, block_state);
    }
}
