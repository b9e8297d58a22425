/* GNU malloc: runs of pages by next fit, and fragments whose size is a power of two
 * (policy/families/gnu.md). */
#include "families/gnu/gnu.h"
#include "layers/define_layer.h"

static uint64_t fragment_size(const struct gnu *state, unsigned class)
{
    return state->smallest << class;
}

static unsigned class_of(const struct gnu *state, uint64_t size)
{
    unsigned class = 0;
    while (fragment_size(state, class) < size)
        class++;
    return class;
}

static bool is_small(const struct gnu *state, uint64_t size)
{
    return size <= state->page / 2;
}

static void enter_list(struct gnu *state, uint32_t number)
{
    struct page *page = &state->pages[number];
    uint32_t *first = &state->lists[page->class];
    page->before = NO_PAGE;
    page->after = *first;
    if (*first != NO_PAGE)
        state->pages[*first].before = number;
    *first = number;
}

static void leave_list(struct gnu *state, uint32_t number)
{
    const struct page *page = &state->pages[number];
    if (page->before == NO_PAGE)
        state->lists[page->class] = page->after;
    else
        state->pages[page->before].after = page->after;
    if (page->after != NO_PAGE)
        state->pages[page->after].before = page->before;
}

static bool is_full(const struct page *page)
{
    return page->freed == NO_BLOCK && page->uncut == NO_BLOCK;
}

static uint32_t new_page_number(struct gnu *state)
{
    uint32_t number = state->unused;
    if (number == NO_PAGE)
        return state->page_count++;
    state->unused = state->pages[number].after;
    return number;
}

/* Makes a page of fragments. Returns its lowest fragment, which is allocated, or NO_BLOCK if memory
 * is refused. */
static uint32_t new_page(struct gnu *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint64_t size = fragment_size(state, class);
    uint32_t id = gnu_take_pages(state, state->page);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint32_t number = new_page_number(state);
    uint32_t uncut = heap_cut_high(heap, id, size);
    heap->blocks[uncut].index_slot = STATE_CACHED;
    heap->counters.cached_blocks++;
    heap->counters.allocated += size;
    heap->blocks[id].family_data = number + 1;
    state->pages[number] = (struct page){
        .base = id,
        .freed = NO_BLOCK,
        .uncut = uncut,
        .class = class,
        .live = 1,
    };
    enter_list(state, number);
    return id;
}

/* Cuts a fragment off the high end of the part of a page that was never used. */
static uint32_t cut_high_end(struct gnu *state, struct page *page)
{
    struct heap *heap = &state->heap;
    uint64_t size = fragment_size(state, page->class);
    uint32_t id = page->uncut;
    if (heap->blocks[id].size > size)
        id = heap_cut_off(heap, id, heap->blocks[id].size - size);
    else
        page->uncut = NO_BLOCK;
    return id;
}

static uint32_t take_fragment(struct gnu *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint32_t number = state->lists[class];
    if (number == NO_PAGE)
        return new_page(state, class);
    state->visited++;
    struct page *page = &state->pages[number];
    uint32_t id = page->freed;
    if (id == NO_BLOCK)
        id = cut_high_end(state, page);
    else
        page->freed = heap->blocks[id].family_data;
    page->live++;
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = number + 1;
    if (is_full(page))
        leave_list(state, number);
    return id;
}

/* Joins the fragments of a page, which must all be free, into one block and frees it. */
static void dissolve(struct gnu *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    uint32_t id = page->base;
    leave_list(state, number);
    heap_join_all(heap, id, state->page);
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    page->after = state->unused;
    state->unused = number;
    gnu_free_pages(state, id);
}

static void free_fragment(struct gnu *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t number = heap->blocks[id].family_data - 1;
    struct page *page = &state->pages[number];
    heap_mark(heap, id, STATE_CACHED);
    if (is_full(page))
        enter_list(state, number);
    if (page->freed == NO_BLOCK && page->uncut != NO_BLOCK) {
        page->freed = cut_high_end(state, page);
        heap->blocks[page->freed].family_data = NO_BLOCK;
    }
    uint32_t *link = page->freed == NO_BLOCK ? &page->freed : &heap->blocks[page->freed].family_data;
    heap->blocks[id].family_data = *link; /* the block becomes the second in the list */
    *link = id;
    if (--page->live == 0)
        dissolve(state, number);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct gnu *state = (struct gnu *)heap;
    state->visited = 0;
    if (!begin(state))
        return NO_BLOCK;
    uint32_t id;
    if (is_small(state, size)) {
        id = take_fragment(state, class_of(state, size));
    } else {
        id = gnu_take_pages(state, round_up(size, state->page));
        if (id != NO_BLOCK) {
            heap->blocks[id].family_data = 0;
            heap->counters.allocated += heap->blocks[id].size;
        }
    }
    count_search(heap, state->visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct gnu *state = (struct gnu *)heap;
    if (heap->blocks[id].family_data != 0) {
        free_fragment(state, id);
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    gnu_free_pages(state, id);
}

/* Resizes a block in place and frees the pages that it no longer needs. Returns false if the block
 * must move. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct gnu *state = (struct gnu *)heap;
    uint64_t old = heap->blocks[id].size;
    if (heap->blocks[id].family_data != 0)
        return size <= old && size > old / 2;
    uint64_t need = round_up(size, state->page);
    if (is_small(state, size) || need > old)
        return false;
    if (need < old) {
        uint32_t rest = heap_cut_high(heap, id, need);
        heap->counters.splits++;
        heap->counters.allocated -= old - need;
        gnu_free_pages(state, rest);
    }
    return true;
}

/* Returns whether the pages of a block can serve `size` bytes after they are freed. */
static bool can_grow(struct gnu *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t below = heap->blocks[id].previous, above = heap->blocks[id].next;
    uint32_t last = heap_last(heap);
    uint64_t visited = 0;
    uint64_t merged = heap->blocks[id].size;
    bool ends = last == id || (last == above && heap_is_free(heap, above));
    merged += heap_is_free(heap, below) ? heap->blocks[below].size : 0;
    merged += heap_is_free(heap, above) ? heap->blocks[above].size : 0;
    if (merged >= size || runs_find(&state->runs, NO_BLOCK, size, &visited) != NO_BLOCK)
        return true;
    if (heap->brk == state->limit && (ends || heap_is_free(heap, last)))
        size -= ends ? merged : heap->blocks[last].size;
    return gnu_has_room(state, size);
}

static uint32_t reallocate_pages(struct heap *heap, uint32_t id, uint64_t size)
{
    struct gnu *state = (struct gnu *)heap;
    if (resize(heap, id, size))
        return id;
    if (heap->blocks[id].family_data != 0 || is_small(state, size))
        return layer_move(heap, id, size);
    if (heap->limit != UINT64_MAX && !can_grow(state, id, round_up(size, state->page)))
        return heap_refuse(heap);
    heap->counters.allocated -= heap->blocks[id].size;
    gnu_free_run(state, id);
    return heap->front->allocate(heap, size);
}

static bool reserve(struct heap *heap)
{
    struct gnu *state = (struct gnu *)heap;
    return heap_reserve(heap) &&
           TABLE_SPARE(state->pages, state->page_count, BATCH, NO_PAGE - 1, state->page_capacity);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct gnu *state = (const struct gnu *)heap;
    return is_small(state, size) ? fragment_size(state, class_of(state, size))
                                 : round_up(size, state->page);
}

DEFINE_ONLY_LAYER(gnu, true, allocate, release, reserve, .resize = resize,
                  .reallocate = reallocate_pages, .rounded = rounded)

static bool init(void *memory)
{
    struct gnu *state = memory;
    state->smallest = 2 * state->heap.setting.word;
    state->unused = NO_PAGE;
    for (unsigned class = 0; class < CLASSES; class++)
        state->lists[class] = NO_PAGE;
    return runs_init(&state->runs, &state->heap, state->page);
}

static void release_all(void *memory)
{
    struct gnu *state = memory;
    table_release(state->pages);
    runs_release(&state->runs);
}

static const char *check(const void *memory)
{
    const struct gnu *state = memory;
    const char *wrong = runs_check(&state->runs);
    if (wrong == NULL && state->index != NO_BLOCK && !heap_is_free(&state->heap, state->index))
        wrong = "the next search would begin at a run that is not free";
    return wrong == NULL ? heap_check(&state->heap) : wrong;
}

static uint64_t cached(const void *memory)
{
    const struct gnu *state = memory;
    uint64_t found = 0;
    for (unsigned class = 0; class < CLASSES; class++)
        for (uint32_t number = state->lists[class]; number != NO_PAGE;
             number = state->pages[number].after) {
            found += state->pages[number].uncut != NO_BLOCK;
            for (uint32_t id = state->pages[number].freed; id != NO_BLOCK;
                 id = state->heap.blocks[id].family_data)
                found++;
        }
    return found;
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct gnu, page),
    UNIT_PARAMETER(struct gnu, returned),
};

const struct family gnu = {
    .name = "gnu",
    FAMILY_OF(struct gnu),
    .blocks_an_event = 6,
    .cached = cached,
};
