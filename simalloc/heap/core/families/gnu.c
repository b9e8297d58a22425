/* GNU malloc: runs of pages by next fit, fragments of a power of two
 * (simalloc/policy/families/gnu.md). */
#include "index/pages/runs.h"
#include "replay/replay.h"
#include "space/table.h"

enum { CLASSES = 64, NO_PAGE = UINT32_MAX };

/* A page of fragments. First come those in `freed`, then the uncut part from its high end down. */
struct page {
    uint32_t before; /* in the list of its class, of pages with free fragments */
    uint32_t after;  /* there; while the page is unused, the next unused one */
    uint32_t base;   /* its lowest fragment */
    uint32_t freed;  /* free fragments, chained by `mark`; or NO_BLOCK */
    uint32_t uncut;  /* those never used, one cached block; or NO_BLOCK */
    uint32_t class;
    uint64_t live;
};

struct gnu {
    struct heap heap; /* an allocated fragment's `mark` is its page's number plus one, else 0 */
    uint64_t page;
    uint64_t returned;
    struct runs runs;
    uint32_t index; /* where the next search begins: a run, or NO_BLOCK, before the lowest */
    uint64_t limit;
    uint64_t entries; /* of the table; 0: there is none yet */
    uint32_t table;
    uint64_t visited; /* in this event */
    uint64_t smallest;
    uint32_t lists[CLASSES]; /* the first page of each class with a free fragment, or NO_PAGE */
    struct page *pages;
    uint32_t page_count;
    uint32_t page_capacity;
    uint32_t unused; /* chain of pages, or NO_PAGE */
};

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

/* Makes a block that is not counted as allocated free; a large run at the end is given back. */
static void free_pages(struct gnu *state, uint32_t id, bool lowers)
{
    struct heap *heap = &state->heap;
    id = runs_free(&state->runs, id);
    state->index = id;
    if (!lowers || heap->blocks[id].size < state->returned || heap->brk != state->limit ||
        heap->blocks[id].next != NO_BLOCK)
        return;
    runs_remove(&state->runs, id);
    state->limit -= heap->blocks[id].size;
    heap_lower(heap, heap->blocks[id].size);
    state->index = runs_highest(&state->runs);
}

/* Allocates a table of as many entries as the state says; false if memory cannot be had. */
static bool new_table(struct gnu *state)
{
    struct heap *heap = &state->heap;
    uint64_t bytes = state->entries * 3 * heap->setting.word;
    uint32_t table = heap_extend(heap, round_up(bytes, state->page));
    if (table == NO_BLOCK)
        return false;
    heap->counters.growths++;
    heap->blocks[table].home = STATE_TABLE;
    state->table = table;
    return true;
}

/* Allocates the first table; false if memory cannot be had. */
static bool begin(struct gnu *state)
{
    if (!state->heap.setting.mechanism || state->entries != 0)
        return true;
    state->entries = 1024;
    return new_table(state);
}

/* Allocates a table of twice as many entries, or more, until there are enough, and frees the old
 * one; false if memory cannot be had. */
static bool grow_table(struct gnu *state)
{
    struct heap *heap = &state->heap;
    uint64_t needed = heap->brk / state->page + 1;
    if (!heap->setting.mechanism || needed <= state->entries)
        return true;
    while (state->entries < needed)
        state->entries *= 2;
    uint32_t old = state->table;
    if (!new_table(state))
        return false;
    heap->blocks[old].home = STATE_ALLOCATED;
    free_pages(state, old, true);
    return true;
}

/* Uses the low end of a run; the next search begins with what is left, or behind it. */
static uint32_t use_run(struct gnu *state, uint32_t id, uint64_t size)
{
    uint32_t next = runs_next(&state->runs, id);
    uint32_t rest;
    uint32_t taken = runs_take(&state->runs, id, size, &rest);
    state->index = rest == NO_BLOCK ? next : rest;
    return taken;
}

/* Raises the break; answers the pages used, not yet counted as allocated. */
static uint32_t grow(struct gnu *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t last = runs_highest(&state->runs);
    bool merges = last != NO_BLOCK && heap->blocks[last].next == NO_BLOCK &&
                  heap->brk == state->limit;
    uint32_t id = heap_extend(heap, size - (merges ? heap->blocks[last].size : 0));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].home = STATE_ALLOCATED;
    state->limit = heap->brk;
    if (!grow_table(state))
        return NO_BLOCK;
    return merges ? use_run(state, runs_free(&state->runs, id), size) : id;
}

/* Allocates whole pages, which are not yet counted as allocated. */
static uint32_t take_pages(struct gnu *state, uint64_t size)
{
    uint32_t id = runs_find(&state->runs, state->index, size, &state->visited);
    return id == NO_BLOCK ? grow(state, size) : use_run(state, id, size);
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

/* Makes a page of fragments; answers its lowest, which is allocated. */
static uint32_t new_page(struct gnu *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint64_t size = fragment_size(state, class);
    uint32_t id = take_pages(state, state->page);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint32_t number = new_page_number(state);
    uint32_t uncut = heap_cut_high(heap, id, size);
    heap->blocks[uncut].home = STATE_CACHED;
    heap->counters.cached_blocks++;
    heap->counters.allocated += size;
    heap->blocks[id].mark = number + 1;
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

/* Takes the high end of the part of a page that was never used. */
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
        page->freed = heap->blocks[id].mark;
    page->live++;
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].mark = number + 1;
    if (is_full(page))
        leave_list(state, number);
    return id;
}

/* Makes one block of a page whose fragments are all free, and frees it. */
static void dissolve(struct gnu *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages[number];
    uint32_t id = page->base;
    leave_list(state, number);
    heap_mark(heap, id, STATE_WASTE);
    while (heap->blocks[id].size < state->page) {
        heap_mark(heap, heap->blocks[id].next, STATE_WASTE);
        heap_join_next(heap, id);
    }
    heap->blocks[id].home = STATE_ALLOCATED;
    page->after = state->unused;
    state->unused = number;
    free_pages(state, id, true);
}

static void free_fragment(struct gnu *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t number = heap->blocks[id].mark - 1;
    struct page *page = &state->pages[number];
    heap_mark(heap, id, STATE_CACHED);
    if (is_full(page))
        enter_list(state, number);
    if (page->freed == NO_BLOCK && page->uncut != NO_BLOCK) {
        page->freed = cut_high_end(state, page);
        heap->blocks[page->freed].mark = NO_BLOCK;
    }
    uint32_t *link = page->freed == NO_BLOCK ? &page->freed : &heap->blocks[page->freed].mark;
    heap->blocks[id].mark = *link; /* behind the first */
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
        id = take_pages(state, round_up(size, state->page));
        if (id != NO_BLOCK) {
            heap->blocks[id].mark = 0;
            heap->counters.allocated += heap->blocks[id].size;
        }
    }
    count_search(heap, state->visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct gnu *state = (struct gnu *)heap;
    if (heap->blocks[id].mark != 0) {
        free_fragment(state, id);
        return;
    }
    heap->counters.allocated -= heap->blocks[id].size;
    free_pages(state, id, true);
}

/* Whether a block stays where it is, less the pages that it does not need. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct gnu *state = (struct gnu *)heap;
    uint64_t old = heap->blocks[id].size;
    if (heap->blocks[id].mark != 0)
        return size <= old && size > old / 2;
    uint64_t need = round_up(size, state->page);
    if (is_small(state, size) || need > old)
        return false;
    if (need < old) {
        uint32_t rest = heap_cut_high(heap, id, need);
        heap->counters.splits++;
        heap->counters.allocated -= old - need;
        free_pages(state, rest, true);
    }
    return true;
}

static uint32_t reallocate_pages(struct heap *heap, uint32_t id, uint64_t size)
{
    struct gnu *state = (struct gnu *)heap;
    if (resize(heap, id, size))
        return id;
    if (heap->blocks[id].mark != 0 || is_small(state, size))
        return layer_move(heap, id, size);
    heap->counters.allocated -= heap->blocks[id].size;
    free_pages(state, id, false);
    return heap->front->allocate(heap, size);
}

static bool reserve(struct heap *heap)
{
    struct gnu *state = (struct gnu *)heap;
    if (!heap_reserve(heap))
        return false;
    if (LIKELY(state->page_capacity - state->page_count >= BATCH))
        return true;
    struct page *pages = table_grow(state->pages, sizeof *pages, state->page_count, BATCH,
                                    NO_PAGE - 1, &state->page_capacity);
    if (pages == NULL)
        return false;
    state->pages = pages;
    return true;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct gnu *state = (const struct gnu *)heap;
    return is_small(state, size) ? fragment_size(state, class_of(state, size))
                                 : round_up(size, state->page);
}

DEFINE_LAYER(gnu, true, allocate, release, reserve, .resize = resize, .reallocate = reallocate_pages,
             .rounded = rounded)

static const struct layer *settle(struct heap *heap)
{
    (void)heap;
    return &layer_gnu;
}

static bool init(void *memory)
{
    struct gnu *state = memory;
    state->smallest = 2 * state->heap.setting.word;
    state->unused = NO_PAGE;
    for (unsigned class = 0; class < CLASSES; class++)
        state->lists[class] = NO_PAGE;
    return heap_init(&state->heap) && runs_init(&state->runs, &state->heap, state->page);
}

static void release_all(void *memory)
{
    struct gnu *state = memory;
    table_release(state->pages);
    runs_release(&state->runs);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct gnu *state = memory;
    const char *wrong = runs_check(&state->runs);
    if (wrong == NULL && state->index != NO_BLOCK && !heap_is_free(&state->heap, state->index))
        wrong = "a search would begin at what is no run";
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
                 id = state->heap.blocks[id].mark)
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
    .state_size = sizeof(struct gnu),
    PARAMETERS(parameters),
    .blocks_an_event = 6,
    .init = init,
    .release = release_all,
    .settle = settle,
    .check = check,
    .cached = cached,
};
