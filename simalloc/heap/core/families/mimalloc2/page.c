/* Pages of mimalloc 2: what they are made of, and their lists of blocks. */
#include "families/mimalloc2/mimalloc2.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    FIRST_BLOCK = 384, /* where blocks of up to 1 KiB begin in a page */
    EXTENDED = 4096, /* bytes in blocks that are put on the free list together */
    LEAST_EXTENDED = 4, /* blocks */
    MOST_PAGES = UINT32_MAX - 1,
    SPARE_PAGES = 64,
};

/* A number that no page has; NO_PAGE, with the heap's failure set, when memory is exhausted. */
static uint32_t new_number(struct mimalloc2 *state)
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
static void cut_ends(struct heap *heap, struct page *page, uint64_t offset)
{
    uint64_t blocks = page->reserved * page->block_size;
    page->rest = page->base;
    if (offset > 0) {
        page->rest = heap_cut_off(heap, page->base, offset);
        heap_mark(heap, page->base, STATE_WASTE);
    }
    if (heap->blocks[page->rest].size > blocks)
        heap_mark(heap, heap_cut_off(heap, page->rest, blocks), STATE_WASTE);
}

uint32_t mi2_page_make(struct mimalloc2 *state, struct theap *theap, struct segment *segment,
                   uint32_t index, uint64_t block_size)
{
    struct heap *heap = &state->heap;
    uint32_t number = new_number(state);
    if (number == NO_PAGE)
        return NO_PAGE;
    struct span *span = &segment->spans[index];
    bool is_single = block_size > LARGEST_MEDIUM;
    uint64_t offset = heap->setting.mechanism && block_size <= KIB ? FIRST_BLOCK : 0;
    struct page *page = &state->pages[number];
    *page = (struct page){
        .segment = segment,
        .block_size = block_size,
        .first = segment->start + index * SLICE + offset,
        .index = index,
        .slices = span->count,
        .base = span->block,
        .reserved = is_single ? 1 : (uint32_t)((span->count * SLICE - offset) / block_size),
        .bin = is_single ? SINGLES : (uint8_t)bin_of(block_size),
    };
    span->page = number;
    span_set(state, segment, index, *span);
    segment->used++;
    mi2_queue_push(state, theap, number, true);
    cut_ends(heap, page, offset);
    return mi2_page_extend(state, number) ? number : NO_PAGE;
}

bool mi2_page_extend(struct mimalloc2 *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    uint64_t size = page->block_size;
    uint32_t left = page->reserved - page->capacity;
    uint32_t count = LEAST_EXTENDED;
    if (size < EXTENDED / LEAST_EXTENDED)
        count = (uint32_t)(EXTENDED / size);
    count = count < left ? count : left;
    if (!heap_reserve_more(heap, count))
        return false;
    uint32_t id = page->rest;
    page->free = id;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t next = i < left ? heap_cut_off(heap, id, size) : NO_BLOCK;
        heap->blocks[id].family_data = i < count ? next : NO_BLOCK;
        if (heap->setting.mechanism)
            heap_touch(heap, heap->blocks[id].address, EIGHT);
        id = next;
    }
    page->rest = id;
    page->capacity += count;
    return true;
}

uint32_t page_clear(struct mimalloc2 *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page page = state->pages[number];
    struct segment *segment = page.segment;
    heap_mark(heap, page.base, STATE_WASTE);
    while (heap->blocks[page.base].size < page.slices * SLICE) {
        heap_mark(heap, heap->blocks[page.base].next, STATE_WASTE);
        heap_join_next(heap, page.base);
    }
    heap_mark(heap, page.base, STATE_FREE);
    state->pages[number] = (struct page){.base = NO_BLOCK, .next = state->unused_pages};
    state->unused_pages = number;
    segment->used--;
    segment->spans[page.index] = (struct span){.count = page.slices, .block = page.base};
    return segment->is_huge ? page.index : span_free(state, segment, page.index);
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

void mi2_page_collect(struct heap *heap, struct page *page)
{
    chain_onto(heap, page->remote, &page->local);
    page->used -= page->remote_count;
    page->remote = NO_BLOCK;
    page->remote_count = 0;
    if (page->free == NO_BLOCK) {
        page->free = page->local;
        page->local = NO_BLOCK;
    }
}

void mi2_page_collect_all(struct heap *heap, struct page *page)
{
    mi2_page_collect(heap, page);
    chain_onto(heap, page->local, &page->free);
    page->local = NO_BLOCK;
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

const char *mi2_page_check(const struct heap *heap, const struct page *page)
{
    uint64_t free = chain_length(heap, page->free);
    uint64_t local = chain_length(heap, page->local);
    if (chain_length(heap, page->remote) != page->remote_count)
        return "the blocks that others freed are miscounted";
    if (free + local + page->used != page->capacity)
        return "the blocks of a page are miscounted";
    if ((page->rest == NO_BLOCK) != (page->capacity == page->reserved))
        return "a page does not know what it has never used";
    return NULL;
}
