#include "families/jemalloc/arena.h"

/* maximum number of new blocks for the pages of a slab, besides its regions */
enum { BLOCKS_A_SLAB = 16 };

ALWAYS_INLINE unsigned slab_regions(const struct extent *slab)
{
    return (unsigned)(slab->size / class_size(slab->class));
}

/* Joins all blocks of an extent into one block of waste. */
static void make_plain(struct jemalloc *state, struct extent *extent)
{
    struct heap *heap = &state->heap;
    uint32_t block = extent->block;
    heap_mark(heap, block, STATE_WASTE);
    if (heap->blocks[block].address > extent->address)
        heap_join_previous(heap, block);
    heap_join_all(heap, block, extent->size);
}

/* Cuts a new extent into free regions. Returns false, with the heap's failure set, if memory is
 * exhausted. */
static bool cut_regions(struct jemalloc *state, uint32_t number, uint32_t class)
{
    struct heap *heap = &state->heap;
    struct extent *slab = extent_at(state, number);
    slab->class = (uint8_t)class;
    unsigned count = slab_regions(slab);
    slab->regions = malloc(count * sizeof *slab->regions);
    if (!heap_needs(heap, slab->regions != NULL))
        return false;
    if (!heap_reserve_more(heap, count + BLOCKS_A_SLAB))
        return false;
    heap_mark(heap, slab->block, STATE_FREE);
    uint32_t block = slab->block;
    for (unsigned i = 0; i < count; i++) {
        slab->regions[i] = block;
        heap->blocks[block].family_data = number;
        if (i + 1 < count)
            block = heap_cut_off(heap, block, class_size(class));
    }
    if (heap->blocks[block].size > class_size(class))
        heap_mark(heap, heap_cut_off(heap, block, class_size(class)), STATE_WASTE);
    slab->free_regions = (uint16_t)count;
    memset(slab->is_free, 0, sizeof slab->is_free);
    for (unsigned i = 0; i < count; i += 64)
        slab->is_free[i / 64] = count - i >= 64 ? UINT64_MAX : (UINT64_C(1) << (count - i)) - 1;
    return true;
}

/* Allocates a new slab. Returns NO_EXTENT if memory or the capacity is exhausted. */
static uint32_t new_slab(struct jemalloc *state, struct arena *arena, uint32_t class)
{
    uint64_t size = state->slabs[class];
    uint32_t number = jemalloc_allocate_pages(state, arena, size, PAGE);
    if (number == NO_EXTENT || !cut_regions(state, number, class))
        return NO_EXTENT;
    arena->active += size;
    const struct extent *slab = extent_at(state, number);
    for (uint64_t at = PAGE; at + PAGE < size; at += PAGE)
        jemalloc_register_page(state, slab->mapping, slab->address + at);
    return number;
}

bool jemalloc_find_slab(struct jemalloc *state, struct arena *arena, uint32_t class)
{
    struct bin *bin = &arena->bins[class];
    if (bin->current != NO_EXTENT && extent_at(state, bin->current)->free_regions > 0)
        return true;
    if (bin->nonfull.root != NO_EXTENT) {
        bin->current = jemalloc_pairing_min(state->extents.at, &bin->nonfull);
        jemalloc_pairing_remove(state->extents.at, &bin->nonfull, bin->current);
        return true;
    }
    bin->current = new_slab(state, arena, class);
    return bin->current != NO_EXTENT;
}

uint32_t jemalloc_allocate_small(struct jemalloc *state, struct arena *arena, uint32_t class)
{
    if (!jemalloc_find_slab(state, arena, class))
        return NO_BLOCK;
    uint32_t block = take_region(extent_at(state, arena->bins[class].current));
    heap_mark(&state->heap, block, STATE_ALLOCATED);
    arena->allocated += class_size(class);
    return block;
}

/* Enters a slab that was full and now has one free region: as the current slab, or among the other
 * slabs that are not full. */
static void enter_nonfull(struct jemalloc *state, struct bin *bin, uint32_t number)
{
    struct extent *at = state->extents.at;
    uint32_t current = bin->current;
    if (current == NO_EXTENT || at[number].address > at[current].address) {
        jemalloc_pairing_insert(at, &bin->nonfull, number);
        return;
    }
    bin->current = number;
    if (at[current].free_regions > 0)
        jemalloc_pairing_insert(at, &bin->nonfull, current);
}

uint32_t jemalloc_put_back(struct jemalloc *state, struct arena *arena, uint32_t block)
{
    struct heap *heap = &state->heap;
    uint32_t number = heap->blocks[block].family_data;
    struct extent *slab = extent_at(state, number);
    struct bin *bin = &arena->bins[slab->class];
    uint32_t width = (uint32_t)class_size(slab->class);
    unsigned region = (uint32_t)(heap->blocks[block].address - slab->address) / width;
    heap_mark(heap, block, STATE_FREE);
    arena->allocated -= width;
    bool was_full = slab->free_regions++ == 0;
    slab->is_free[region / 64] |= UINT64_C(1) << region % 64;
    if (slab->free_regions == slab_regions(slab)) {
        if (number == bin->current)
            bin->current = NO_EXTENT;
        else if (!was_full)
            jemalloc_pairing_remove(state->extents.at, &bin->nonfull, number);
        return number;
    }
    if (was_full && number != bin->current)
        enter_nonfull(state, bin, number);
    return NO_EXTENT;
}

void jemalloc_free_extent(struct jemalloc *state, struct arena *arena, uint32_t number)
{
    struct extent *extent = extent_at(state, number);
    arena->active -= extent->size;
    make_plain(state, extent);
    free(extent->regions);
    extent->regions = NULL;
    jemalloc_free_pages(state, arena, number);
}

/* Splits the block of a large object's extent into the object at an offset and waste around it. */
static void lay_out(struct jemalloc *state, uint32_t number, uint64_t offset,
                           uint64_t usable)
{
    struct heap *heap = &state->heap;
    uint32_t block = extent_at(state, number)->block;
    heap->blocks[block].family_data = number;
    if (offset > 0)
        heap->blocks[heap_cut_low(heap, block, offset)].index_slot = STATE_WASTE;
    if (heap->blocks[block].size > usable)
        heap_cut_off(heap, block, usable);
    heap_mark(heap, block, STATE_ALLOCATED);
}

uint32_t jemalloc_allocate_large(struct jemalloc *state, struct arena *arena, struct random *random,
                                 uint64_t usable, uint64_t alignment)
{
    if (alignment < CACHE_LINE)
        alignment = CACHE_LINE;
    uint32_t number = jemalloc_allocate_pages(state, arena, usable + state->pad, alignment);
    if (number == NO_EXTENT)
        return NO_BLOCK;
    arena->active += usable + state->pad;
    arena->allocated += usable;
    uint64_t offset = 0;
    if (state->pad > 0 && alignment < PAGE) {
        unsigned shift = floor_log2(round_up_to_power(alignment, CACHE_LINE));
        offset = random_bits(random, 12 - shift) << shift;
    }
    lay_out(state, number, offset, usable);
    return extent_at(state, number)->block;
}

void jemalloc_free_large(struct jemalloc *state, struct arena *arena, uint32_t block)
{
    arena->allocated -= state->heap.blocks[block].size;
    jemalloc_free_extent(state, arena, state->heap.blocks[block].family_data);
}

bool jemalloc_resize_large(struct jemalloc *state, uint32_t block, uint64_t usable)
{
    uint32_t number = state->heap.blocks[block].family_data;
    struct extent *extent = extent_at(state, number);
    struct arena *arena = state->arenas[extent->arena];
    uint64_t have = state->heap.blocks[block].size;
    uint64_t offset = state->heap.blocks[block].address - extent->address;
    if (!jemalloc_reserve_extents(state))
        return false;
    make_plain(state, extent_at(state, number));
    bool resized = usable <= have || jemalloc_expand_pages(state, arena, number, usable - have);
    if (usable < have)
        jemalloc_free_pages(state, arena,
                            jemalloc_split_extent(state, arena, number, usable + state->pad));
    if (resized) {
        arena->active += usable - have;
        arena->allocated += usable - have;
    }
    lay_out(state, number, offset, resized ? usable : have);
    return resized;
}
