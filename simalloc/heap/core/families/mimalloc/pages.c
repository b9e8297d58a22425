/* Pages of mimalloc: their numbers, their layout, and their lists of blocks. */
#include "families/mimalloc/mimalloc.h"

uint32_t page_new(struct mimalloc *mi)
{
    uint32_t number = mi->unused_pages;
    if (number != NO_PAGE) {
        mi->unused_pages = mi->pages[number].next;
        return number;
    }
    bool has_room = TABLE_SPARE(mi->pages, mi->page_count, 1, UINT32_MAX, mi->page_capacity);
    return heap_needs(&mi->heap, has_room) ? mi->page_count++ : NO_PAGE;
}

void page_cut_ends(struct heap *heap, struct page *page, uint32_t front)
{
    uint64_t blocks = page->reserved * page->block_size;
    page->rest = page->base;
    if (page->first > page->start) {
        page->rest = heap_cut_off(heap, page->base, page->first - page->start);
        heap_mark(heap, page->base, front);
    }
    if (heap->blocks[page->rest].size > blocks)
        heap_mark(heap, heap_cut_off(heap, page->rest, blocks), STATE_WASTE);
    heap_mark(heap, page->rest, STATE_FREE);
}

bool page_extend(struct mimalloc *mi, uint32_t number)
{
    struct heap *heap = &mi->heap;
    struct page *page = &mi->pages[number];
    uint64_t size = page->block_size;
    uint32_t left = page->reserved - page->capacity;
    uint32_t count = (uint32_t)(mi->rules->extended / size);
    if (count < mi->rules->min_extended)
        count = mi->rules->min_extended;
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
    page->is_zero = page->is_new;
    return true;
}

void page_drop(struct mimalloc *mi, uint32_t number)
{
    mi->pages[number] = (struct page){.base = NO_BLOCK, .next = mi->unused_pages};
    mi->unused_pages = number;
}

/* Puts one list on top of another. */
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

void page_collect(struct heap *heap, struct page *page, bool keep_newest)
{
    uint32_t taken = page->remote;
    uint32_t kept = keep_newest && taken != NO_BLOCK;
    page->remote = kept ? taken : NO_BLOCK;
    if (kept) {
        taken = heap->blocks[taken].family_data;
        heap->blocks[page->remote].family_data = NO_BLOCK;
    }
    page->used -= page->remote_count - kept;
    page->remote_count = kept;
    chain_onto(heap, taken, &page->local);
    page_use_local(page);
}

void page_collect_all(struct heap *heap, struct page *page)
{
    page_collect(heap, page, false);
    if (page->local == NO_BLOCK)
        return;
    chain_onto(heap, page->local, &page->free);
    page->local = NO_BLOCK;
    page->is_zero = false;
}

/* Returns the length of a list of free blocks, or UINT32_MAX if one of them is not free. */
static uint32_t chain_length(const struct heap *heap, uint32_t id)
{
    uint32_t count = 0;
    for (; id != NO_BLOCK; id = heap->blocks[id].family_data)
        if (heap->blocks[id].index_slot != STATE_FREE || ++count == UINT32_MAX)
            return UINT32_MAX;
    return count;
}

static const char *check_page(const struct heap *heap, const struct page *page)
{
    uint64_t free = chain_length(heap, page->free);
    uint64_t local = chain_length(heap, page->local);
    if (chain_length(heap, page->remote) != page->remote_count)
        return "the blocks freed by other threads are miscounted";
    if (free + local + page->used != page->capacity)
        return "the blocks of a page are miscounted";
    if ((page->rest == NO_BLOCK) != (page->capacity == page->reserved))
        return "the never used blocks of a page are miscounted";
    if (page->is_marked && page->owner != NULL)
        return "an abandoned page has an owner";
    return NULL;
}

const char *mimalloc_check(const void *memory)
{
    const struct mimalloc *mi = memory;
    const char *wrong = heap_check(&mi->heap);
    for (uint32_t number = 1; number < mi->page_count && wrong == NULL; number++)
        if (mi->pages[number].base != NO_BLOCK)
            wrong = check_page(&mi->heap, &mi->pages[number]);
    return wrong;
}
