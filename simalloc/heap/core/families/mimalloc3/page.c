/* Pages of mimalloc 3: what they are made of, and their lists of blocks. */
#include "families/mimalloc3/mimalloc3.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    LARGEST_MEDIUM = 86698, /* blocks of a page of eight slices; those of 65536 have larger ones */
    FARTHEST_OFFSET = 4096 - PAGE_HEADER, /* of the first block, in a page that is not small */
    FARTHEST_COLOUR = 448, /* that the first block is moved in a small page, for the caches' sake */
    SMALLEST_COLOUR = 64,
    EXTENDED = 8192, /* bytes in blocks that are put on the free list together */
    MOST_PAGES = UINT32_MAX - 1,
    SPARE_PAGES = 64,
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
        uint64_t offset = state->heap.setting.mechanism ? FARTHEST_OFFSET : 0;
        return (uint32_t)(round_up(size + offset, SLICE) / SLICE);
    }
    if (size <= LARGEST_SMALL)
        return 1;
    return size <= LARGEST_MEDIUM && size != SLICE ? 8 : 64;
}

/* What divides the addresses of all blocks of a size, in a real page. */
static uint64_t natural(uint64_t size)
{
    if ((is_power(size) && size <= 4096) || size <= KIB)
        return lowest_bit(size);
    if (size % 4096 == 0)
        return size <= LARGEST_SMALL ? 4096 : PAGE_HEADER;
    return lowest_bit(size) < 16 ? lowest_bit(size) : 16;
}

uint64_t natural_alignment(const struct mimalloc3 *state, uint64_t size)
{
    if (state->heap.setting.mechanism)
        return natural(size);
    return lowest_bit(size) < SLICE ? lowest_bit(size) : SLICE;
}

/* A number below `choices` that is a hash of a page's absolute address. */
static uint64_t scatter(uint64_t choices, uint32_t slices, uint64_t absolute)
{
    uint64_t hash = absolute / SLICE / slices * UINT64_C(0x9E3779B97F4A7C15);
    return (hash >> 48) * choices >> 16;
}

/* Where the first block lies in a page. */
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

/* A number that no page has; NO_PAGE, with the heap's failure set, when memory is exhausted. */
static uint32_t new_number(struct mimalloc3 *state)
{
    uint32_t number = state->unused_pages;
    if (number != NO_PAGE) {
        state->unused_pages = state->pages[number].next;
        return number;
    }
    if (state->page_count == state->page_capacity) {
        struct page *pages = table_grow(state->pages, sizeof *pages, state->page_count,
                                        SPARE_PAGES, MOST_PAGES, &state->page_capacity);
        if (pages == NULL) {
            heap_fail(&state->heap, OUT_OF_MEMORY);
            return NO_PAGE;
        }
        state->pages = pages;
    }
    return state->page_count++;
}

/* Makes blocks of what lies in front of a new page's blocks and behind them. */
static void cut_ends(struct heap *heap, struct page *page)
{
    uint64_t blocks = page->reserved * page->block_size;
    page->rest = page->base;
    if (page->first > page->start) {
        page->rest = heap_cut_off(heap, page->base, page->first - page->start);
        heap_mark(heap, page->base, page->block_size <= LARGEST_SMALL ? STATE_TABLE : STATE_WASTE);
    }
    if (heap->blocks[page->rest].size > blocks)
        heap_cut_off(heap, page->rest, blocks);
    heap_mark(heap, page->rest, STATE_FREE);
}

uint32_t mi3_page_make(struct mimalloc3 *state, struct theap *theap, uint64_t block_size,
                   uint64_t alignment)
{
    struct heap *heap = &state->heap;
    uint32_t slices = slices_for(state, block_size, alignment);
    struct run run = alignment > 0 ? arenas_map_page(state, slices, alignment)
                                   : arenas_take(state, slices, theap->sequence);
    uint32_t number = run.block == NO_BLOCK ? NO_PAGE : new_number(state);
    if (number == NO_PAGE)
        return NO_PAGE;
    bool is_singleton = block_size > LARGEST_BLOCK || alignment > 0;
    uint64_t offset = 0;
    if (heap->setting.mechanism && alignment == 0)
        offset = first_block(block_size, slices, run.absolute);
    struct page *page = &state->pages[number];
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
        .reserved = is_singleton ? 1 : (uint32_t)((slices * SLICE - offset) / block_size),
        .bin = is_singleton ? SINGLETONS : (uint8_t)bin_of(block_size),
    };
    mi3_queue_push(state, theap, number, true);
    cut_ends(heap, page);
    return arenas_register(state, page) && mi3_page_extend(state, number) ? number : NO_PAGE;
}

bool mi3_page_extend(struct mimalloc3 *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    uint64_t size = page->block_size;
    uint32_t left = page->reserved - page->capacity;
    uint32_t count = size > EXTENDED ? 1 : (uint32_t)(EXTENDED / size);
    count = count < left ? count : left;
    if (!heap_reserve_more(heap, count))
        return false;
    uint32_t id = page->rest;
    page->free = id;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t next = NO_BLOCK;
        if (i < left)
            next = heap_cut_off(heap, id, size);
        heap->blocks[id].family_data = i < count ? next : NO_BLOCK;
        if (heap->setting.mechanism)
            heap_touch(heap, heap->blocks[id].address, EIGHT);
        id = next;
    }
    page->rest = id;
    page->capacity += count;
    page->is_zero = page->is_new;
    return true;
}

void mi3_page_free(struct mimalloc3 *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    if (page->owner != NULL)
        mi3_queue_remove(state, number);
    arenas_unmark(state, number);
    heap_mark(heap, page->base, STATE_WASTE);
    while (heap->blocks[page->base].size < page->slices * SLICE) {
        heap_mark(heap, heap->blocks[page->base].next, STATE_WASTE);
        heap_join_next(heap, page->base);
    }
    arenas_give(state, page);
    page->base = NO_BLOCK;
    page->next = state->unused_pages;
    state->unused_pages = number;
}

/* Puts a chain on top of another. */
static void chain_onto(struct heap *heap, uint32_t chain, uint32_t *other)
{
    if (chain == NO_BLOCK)
        return;
    uint32_t last = chain;
    while (heap->blocks[last].family_data != NO_BLOCK)
        last = heap->blocks[last].family_data;
    heap->blocks[last].family_data = *other;
    *other = chain;
}

void page_use_local(struct page *page)
{
    if (page->free != NO_BLOCK)
        return;
    page->free = page->local;
    page->local = NO_BLOCK;
    page->is_zero = false;
}

void mi3_page_collect(struct heap *heap, struct page *page, bool keep_newest)
{
    uint32_t taken = page->remote;
    if (keep_newest && taken != NO_BLOCK) {
        uint32_t newest = taken;
        taken = heap->blocks[newest].family_data;
        heap->blocks[newest].family_data = NO_BLOCK;
        page->used -= page->remote_count - 1;
        page->remote_count = 1;
    } else {
        page->remote = NO_BLOCK;
        page->used -= page->remote_count;
        page->remote_count = 0;
    }
    chain_onto(heap, taken, &page->local);
    page_use_local(page);
}

void mi3_page_collect_all(struct heap *heap, struct page *page)
{
    mi3_page_collect(heap, page, false);
    if (page->local == NO_BLOCK)
        return;
    chain_onto(heap, page->local, &page->free);
    page->local = NO_BLOCK;
    page->is_zero = false;
}

/* How many blocks a chain has, all of them free; or UINT32_MAX if one of them is not. */
static uint32_t chain_length(const struct heap *heap, uint32_t id)
{
    uint32_t count = 0;
    for (; id != NO_BLOCK; id = heap->blocks[id].family_data)
        if (heap->blocks[id].index_slot != STATE_FREE || ++count == UINT32_MAX)
            return UINT32_MAX;
    return count;
}

const char *mi3_page_check(const struct heap *heap, const struct page *page)
{
    uint64_t free = chain_length(heap, page->free);
    uint64_t local = chain_length(heap, page->local);
    uint64_t remote = chain_length(heap, page->remote);
    if (remote != page->remote_count)
        return "the blocks that others freed are miscounted";
    if (free + local + page->used != page->capacity)
        return "the blocks of a page are miscounted";
    if ((page->rest == NO_BLOCK) != (page->capacity == page->reserved))
        return "a page does not know what it has never used";
    if (page->is_marked && page->owner != NULL)
        return "an abandoned page has an owner";
    return NULL;
}
