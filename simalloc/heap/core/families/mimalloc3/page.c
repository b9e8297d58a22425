/* Pages of mimalloc 3: making and freeing them, and the layout of their blocks. */
#include "families/mimalloc3/mimalloc3.h"

enum {
    /* largest block in a page of eight slices; blocks of 65536 bytes are an exception */
    LARGEST_MEDIUM = 86698,
    /* maximum offset of the first block, if blocks are larger than LARGEST_SMALL */
    FARTHEST_OFFSET = 4096 - PAGE_HEADER,
    /* maximum shift of a small page's first block, which spreads blocks over cache sets */
    FARTHEST_COLOUR = 448,
    SMALLEST_COLOUR = 64,
};

static bool is_power(uint64_t size)
{
    return (size & (size - 1)) == 0;
}

static uint32_t slices_for(const struct mimalloc3 *state, uint64_t size, uint64_t alignment)
{
    if (alignment > 0)
        return (uint32_t)(size / SLICE);
    if (size > LARGEST_BLOCK) {
        uint64_t offset = state->mi.heap.setting.mechanism ? FARTHEST_OFFSET : 0;
        return (uint32_t)(round_up(size + offset, SLICE) / SLICE);
    }
    if (size <= LARGEST_SMALL)
        return 1;
    return size <= LARGEST_MEDIUM && size != SLICE ? 8 : 64;
}

/* Returns the largest power of two that divides the addresses of all blocks of a size in a real
 * page. */
static uint64_t natural(uint64_t size)
{
    if ((is_power(size) && size <= 4096) || size <= KIB)
        return lowest_bit(size);
    if (size % 4096 == 0)
        return size <= LARGEST_SMALL ? 4096 : PAGE_HEADER;
    return lowest_bit(size) < 16 ? lowest_bit(size) : 16;
}

uint64_t natural_alignment(const struct heap *heap, uint64_t size)
{
    if (heap->setting.mechanism)
        return natural(size);
    return lowest_bit(size) < SLICE ? lowest_bit(size) : SLICE;
}

/* Returns a number below `choices`, a hash of a page's absolute address. */
static uint64_t scatter(uint64_t choices, uint32_t slices, uint64_t absolute)
{
    uint64_t hash = absolute / SLICE / slices * UINT64_C(0x9E3779B97F4A7C15);
    return (hash >> 48) * choices >> 16;
}

/* Returns the offset of the first block in a page. */
static uint64_t first_block(uint64_t size, uint32_t slices, uint64_t absolute)
{
    uint64_t room = slices * SLICE;
    if (size <= LARGEST_SMALL) {
        bool by_size = (is_power(size) && size <= 4096) || size <= KIB;
        uint64_t unit = by_size ? size : size % 4096 == 0 ? 4096 : PAGE_HEADER;
        uint64_t offset = round_up(round_up(PAGE_HEADER, unit), 16);
        uint64_t step = natural(size) < SMALLEST_COLOUR ? SMALLEST_COLOUR : natural(size);
        if (step > FARTHEST_COLOUR)
            return offset;
        return offset + step * scatter(1 + FARTHEST_COLOUR / step, slices, absolute);
    }
    uint64_t slack = room % size;
    if (slack < PAGE_HEADER && size < room / 8)
        slack += size;
    slack = slack < FARTHEST_OFFSET ? slack : FARTHEST_OFFSET;
    return PAGE_HEADER * scatter(1 + slack / PAGE_HEADER, slices, absolute);
}

uint32_t mi3_page_make(struct mimalloc3 *state, struct theap *theap, uint64_t block_size,
                       uint64_t alignment)
{
    struct mimalloc *mi = &state->mi;
    uint32_t slices = slices_for(state, block_size, alignment);
    struct run run = alignment > 0 ? arenas_map_page(state, slices, alignment)
                                   : arenas_take(state, slices, theap->sequence);
    uint32_t number = run.block == NO_BLOCK ? NO_PAGE : page_new(mi);
    if (number == NO_PAGE)
        return NO_PAGE;
    bool is_single = block_size > LARGEST_BLOCK || alignment > 0;
    uint64_t offset = 0;
    if (mi->heap.setting.mechanism && alignment == 0)
        offset = first_block(block_size, slices, run.absolute);
    struct page *page = &mi->pages[number];
    *page = (struct page){
        .start = run.start,
        .absolute = run.absolute,
        .block_size = block_size,
        .first = run.start + offset,
        .slices = slices,
        .arena = run.arena,
        .is_new = run.is_new,
        .front = run.front,
        .base = run.block,
        .reserved = is_single ? 1 : (uint32_t)((slices * SLICE - offset) / block_size),
        .bin = is_single ? SINGLES : (uint8_t)bin_of(block_size),
    };
    queue_push(mi, theap, number, true);
    page_cut_ends(&mi->heap, page, block_size <= LARGEST_SMALL ? STATE_TABLE : STATE_WASTE);
    return arenas_register(state, page) && page_extend(mi, number) ? number : NO_PAGE;
}

void mi3_page_free(struct mimalloc *mi, uint32_t number)
{
    struct mimalloc3 *state = (struct mimalloc3 *)mi;
    struct page *page = &mi->pages[number];
    if (page->owner != NULL)
        queue_remove(mi, number);
    arenas_unmark(state, number);
    heap_join_all(&mi->heap, page->base, page->slices * SLICE);
    arenas_give(state, page);
    page_drop(mi, number);
}
