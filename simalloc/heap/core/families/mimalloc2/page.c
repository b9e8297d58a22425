/* Pages of mimalloc 2: making a page of a span, and a span of a page. */
#include "families/mimalloc2/mimalloc2.h"

enum { FIRST_BLOCK = 384 }; /* offset of the first block in a page with blocks of up to 1 KiB */

uint32_t mi2_page_make(struct mimalloc2 *state, struct theap *theap, struct segment *segment,
                       uint32_t index, uint64_t block_size)
{
    struct mimalloc *mi = &state->mi;
    uint32_t number = page_new(mi);
    if (number == NO_PAGE)
        return NO_PAGE;
    struct span *span = &segment->spans[index];
    bool is_single = block_size > LARGEST_MEDIUM;
    uint64_t offset = mi->heap.setting.mechanism && block_size <= KIB ? FIRST_BLOCK : 0;
    uint64_t start = segment->start + index * SLICE;
    struct page *page = &mi->pages[number];
    *page = (struct page){
        .segment = segment,
        .start = start,
        .absolute = segment->relative + index * SLICE,
        .block_size = block_size,
        .first = start + offset,
        .index = index,
        .slices = span->count,
        .base = span->block,
        .reserved = is_single ? 1 : (uint32_t)((span->count * SLICE - offset) / block_size),
        .bin = is_single ? SINGLES : (uint8_t)bin_of(block_size),
    };
    span->page = number;
    span_set(state, segment, index, *span);
    segment->used++;
    queue_push(mi, theap, number, true);
    page_cut_ends(&mi->heap, page, STATE_WASTE);
    return page_extend(mi, number) ? number : NO_PAGE;
}

uint32_t page_clear(struct mimalloc2 *state, uint32_t number)
{
    const struct page page = state->mi.pages[number];
    struct segment *segment = page.segment;
    heap_join_all(&state->mi.heap, page.base, page.slices * SLICE);
    heap_mark(&state->mi.heap, page.base, STATE_FREE);
    page_drop(&state->mi, number);
    segment->used--;
    segment->spans[page.index] = (struct span){.count = page.slices, .block = page.base};
    return segment->is_huge ? page.index : span_free(state, segment, page.index);
}
