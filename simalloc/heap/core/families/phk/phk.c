/* PhK malloc: runs of pages by first fit, and pages of chunks whose size is a power of two
 * (policy/families/phk.md). */
#include "families/phk/phk.h"
#include "index/pages/runs.h"
#include "layers/define_layer.h"

struct phk {
    struct heap heap; /* `family_data`: number of a chunk's page plus 1, or 0 for whole pages */
    uint64_t page;
    uint64_t keep;
    uint64_t chunk_pages; /* enum page_order */
    struct runs runs;
    uint64_t visited;    /* blocks visited in the current event */
    uint32_t directory;  /* segment of the page directory, or NO_BLOCK */
    uint32_t spare;      /* unused run descriptor, or NO_BLOCK */
    uint32_t *described; /* descriptor of each run, by run id */
    uint32_t described_capacity;
    struct chunk_pages pages;
};

static uint32_t take_chunk(struct phk *state, unsigned class);
static void free_chunk(struct phk *state, uint32_t id);

static unsigned class_of(uint64_t size)
{
    unsigned class = 0;
    while ((uint64_t)SMALLEST << class < size)
        class++;
    return class;
}

static bool is_small(const struct phk *state, uint64_t size)
{
    return size <= state->page / 2;
}

/* Allocates a chunk for the allocator's own data. */
static uint32_t take_table(struct phk *state, uint64_t size)
{
    uint32_t id = take_chunk(state, class_of(size));
    if (id != NO_BLOCK)
        heap_mark(&state->heap, id, STATE_TABLE);
    return id;
}

static uint32_t take_run_descriptor(struct phk *state)
{
    return take_table(state, 5 * state->heap.setting.word);
}

/* Keeps a descriptor that is no longer used as the spare descriptor, or frees it. */
static void spare_descriptor(struct phk *state, uint32_t descriptor)
{
    if (descriptor == NO_BLOCK)
        return;
    if (state->spare == NO_BLOCK)
        state->spare = descriptor;
    else
        free_chunk(state, descriptor);
}

/* Returns the bytes of the larger directory that a heap up to this break needs, or 0 if the current
 * directory suffices. */
static uint64_t new_directory_bytes(const struct phk *state, uint64_t brk)
{
    const struct heap *heap = &state->heap;
    uint64_t word = heap->setting.word;
    uint64_t entries = (unsigned)__builtin_ctzll(state->page) + brk / state->page;
    if (!heap->setting.mechanism || entries < heap->blocks[state->directory].size / word)
        return 0;
    return ((entries - 1) * word / state->page + 2) * state->page;
}

/* Maps a larger directory if the heap has outgrown the current one. */
static void fit_directory(struct phk *state)
{
    struct heap *heap = &state->heap;
    uint64_t bytes = new_directory_bytes(state, heap->brk);
    if (bytes == 0)
        return;
    uint32_t directory = heap_map_segment(heap, bytes, 1);
    if (directory == NO_BLOCK)
        return;
    heap->blocks[directory].index_slot = STATE_TABLE;
    heap_unmap_segment(heap, state->directory);
    state->directory = directory;
}

/* Takes the low end of a run. */
static uint32_t use_run(struct phk *state, uint32_t id, uint64_t size)
{
    uint32_t rest;
    uint32_t descriptor = state->described[id];
    uint32_t taken = runs_take(&state->runs, id, size, &rest);
    state->heap.blocks[taken].index_slot = STATE_WASTE;
    if (rest == NO_BLOCK)
        spare_descriptor(state, descriptor);
    return taken;
}

/* Allocates whole pages and does not count them as allocated. Returns NO_BLOCK, possibly with the
 * heap's failure set, if that is impossible. */
static uint32_t take_pages(struct phk *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = runs_find(&state->runs, NO_BLOCK, size, &state->visited);
    if (id != NO_BLOCK)
        return use_run(state, id, size);
    if (heap->limit != UINT64_MAX && heap_has_room(heap, size) && size <= MAX_BREAK &&
        !heap_has_room(heap, size + new_directory_bytes(state, heap->brk + size)))
        return heap_refuse(heap);
    id = heap_extend(heap, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    fit_directory(state);
    return heap->failure == NULL ? id : NO_BLOCK;
}

/* Lowers the break if a run ends there, so that `keep` bytes of the run remain. */
static void lower_break(struct phk *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    if (heap->blocks[id].next != NO_BLOCK || heap->blocks[id].size <= state->keep)
        return;
    heap_lower(heap, heap->blocks[id].size - state->keep);
    runs_resized(&state->runs, id);
}

/* Turns a block of waste pages into a free run. The block stays waste if memory for the run's
 * descriptor is refused. */
static void free_pages(struct phk *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    bool mechanism = heap->setting.mechanism;
    if (mechanism && state->spare == NO_BLOCK)
        state->spare = take_run_descriptor(state);
    if (heap->failure != NULL || (mechanism && state->spare == NO_BLOCK))
        return;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    uint32_t low = heap_is_free(heap, below) ? state->described[below] : NO_BLOCK;
    uint32_t high = heap_is_free(heap, above) ? state->described[above] : NO_BLOCK;
    uint32_t run = runs_free(&state->runs, id);
    if (low == NO_BLOCK && high == NO_BLOCK) {
        state->described[run] = state->spare;
        state->spare = NO_BLOCK;
    } else {
        state->described[run] = low != NO_BLOCK ? low : high;
    }
    lower_break(state, run);
    if (low != NO_BLOCK && high != NO_BLOCK)
        free_chunk(state, high);
}

/* Makes the descriptor of a new page. If the descriptor is in the page itself, the remainder of the
 * page becomes `uncut`. Returns false if memory is refused. */
static bool describe_page(struct phk *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct page *page = &state->pages.all[number];
    uint64_t chunk = (uint64_t)SMALLEST << page->class;
    if (!heap->setting.mechanism)
        return true;
    uint64_t chunks = state->page / chunk;
    uint64_t bytes = 8 + 2 * heap->setting.word + 4 * ((chunks + 31) / 32);
    if (chunk > 2 * bytes) {
        uint32_t descriptor = take_table(state, bytes);
        state->pages.all[number].descriptor = descriptor; /* table of pages may have moved */
        return descriptor != NO_BLOCK;
    }
    page->uncut = heap_cut_high(heap, page->base, round_up(bytes, chunk));
    heap->blocks[page->base].index_slot = STATE_TABLE;
    heap->blocks[page->uncut].index_slot = STATE_WASTE;
    return true;
}

/* Makes a page of chunks, first in its list. Returns its number, or NO_PAGE. */
static uint32_t new_page(struct phk *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint32_t id = take_pages(state, state->page);
    if (id == NO_BLOCK)
        return NO_PAGE;
    uint32_t number = phk_new_page_number(&state->pages);
    if (!heap_needs(heap, number != NO_PAGE))
        return NO_PAGE;
    struct page *page = &state->pages.all[number];
    page->base = page->uncut = id;
    page->descriptor = NO_BLOCK;
    page->class = class;
    page->live = 0;
    page->freed = 0;
    page->address = heap->blocks[id].address;
    if (!describe_page(state, number)) {
        state->pages.all[number].after = state->pages.unused;
        state->pages.unused = number;
        free_pages(state, id);
        return NO_PAGE;
    }
    heap_mark(heap, state->pages.all[number].uncut, STATE_CACHED);
    enter_list(&state->pages, number, NO_PAGE, state->pages.lists[class]);
    return number;
}

/* Allocates a free chunk of a class. Returns NO_BLOCK if memory is refused. */
static uint32_t take_chunk(struct phk *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint32_t number = state->pages.lists[class];
    if (number != NO_PAGE)
        state->visited++;
    else
        number = new_page(state, class);
    if (number == NO_PAGE)
        return NO_BLOCK;
    struct page *page = &state->pages.all[number];
    uint32_t id;
    if (page->freed > 0) {
        id = take_freed(page);
    } else {
        id = page->uncut;
        uint64_t chunk = (uint64_t)SMALLEST << class;
        page->uncut = heap->blocks[id].size > chunk ? heap_cut_off(heap, id, chunk) : NO_BLOCK;
    }
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->blocks[id].family_data = number + 1;
    page->live++;
    if (page->freed == 0 && page->uncut == NO_BLOCK)
        leave_list(&state->pages, number);
    return id;
}

/* Joins the chunks of a page, which must all be free, into one block and frees it. */
static void dissolve(struct phk *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    leave_list(&state->pages, number);
    uint32_t descriptor = state->pages.all[number].descriptor;
    if (descriptor != NO_BLOCK)
        free_chunk(state, descriptor);
    struct page *page = &state->pages.all[number];
    uint32_t id = page->base;
    heap_join_all(heap, id, state->page);
    for (uint64_t word = 0; word < page->words; word++)
        page->bits[word] = 0;
    page->after = state->pages.unused;
    state->pages.unused = number;
    free_pages(state, id);
}

/* Inserts a page in its list again after a free in the full page. */
static void enter_again(struct phk *state, uint32_t number)
{
    if (state->chunk_pages == NEWEST_FIRST)
        enter_list(&state->pages, number, NO_PAGE,
                   state->pages.lists[state->pages.all[number].class]);
    else
        enter_by_address(&state->pages, number, state->chunk_pages == ALMOST_BY_ADDRESS);
}

static void free_chunk(struct phk *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t number = heap->blocks[id].family_data - 1;
    struct page *page = &state->pages.all[number];
    uint64_t place = (heap->blocks[id].address - page->address) >> page->class >> 4;
    if (!heap_needs(heap, reserve_place(page, place)))
        return;
    heap_mark(heap, id, STATE_CACHED);
    if (page->freed == 0 && page->uncut == NO_BLOCK)
        enter_again(state, number);
    page->ids[place] = id;
    page->bits[place / 64] |= UINT64_C(1) << place % 64;
    page->freed++;
    if (--page->live == 0)
        dissolve(state, number);
}

/* Maps the directory and makes the spare descriptor. Returns false if memory is refused. */
static bool begin(struct phk *state)
{
    struct heap *heap = &state->heap;
    state->directory = heap_map_segment(heap, state->page, 1);
    if (state->directory == NO_BLOCK)
        return false;
    heap->blocks[state->directory].index_slot = STATE_TABLE;
    state->spare = take_run_descriptor(state);
    return state->spare != NO_BLOCK;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct phk *state = (struct phk *)heap;
    if (UNLIKELY(heap->setting.mechanism && state->directory == NO_BLOCK) && !begin(state))
        return NO_BLOCK;
    state->visited = 0;
    uint32_t id;
    if (is_small(state, size)) {
        id = take_chunk(state, class_of(size));
    } else {
        id = take_pages(state, round_up(size, state->page));
        if (id != NO_BLOCK) {
            heap->blocks[id].family_data = 0;
            heap_mark(heap, id, STATE_ALLOCATED);
        }
    }
    count_search(heap, state->visited);
    return heap->failure == NULL ? id : NO_BLOCK;
}

static void release(struct heap *heap, uint32_t id)
{
    struct phk *state = (struct phk *)heap;
    if (heap->blocks[id].family_data != 0) {
        free_chunk(state, id);
        return;
    }
    heap_mark(heap, id, STATE_WASTE);
    free_pages(state, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    const struct phk *state = (const struct phk *)heap;
    uint64_t old = heap->blocks[id].size;
    if (heap->blocks[id].family_data == 0)
        return round_up(size, state->page) == old;
    return size < old && (size > old / 2 || old == SMALLEST);
}

static bool reserve(struct heap *heap)
{
    struct phk *state = (struct phk *)heap;
    return heap_reserve(heap) &&
           TABLE_FOLLOW(state->described, state->described_capacity, heap->capacity);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct phk *state = (const struct phk *)heap;
    return is_small(state, size) ? (uint64_t)SMALLEST << class_of(size)
                                 : round_up(size, state->page);
}

DEFINE_ONLY_LAYER(phk, true, allocate, release, reserve, .resize = resize, .rounded = rounded)

static bool init(void *memory)
{
    struct phk *state = memory;
    phk_chunk_pages_init(&state->pages);
    return runs_init(&state->runs, &state->heap, state->page);
}

static void release_all(void *memory)
{
    struct phk *state = memory;
    phk_chunk_pages_release(&state->pages);
    table_release(state->described);
    runs_release(&state->runs);
}

static const char *check(const void *memory)
{
    const struct phk *state = memory;
    const struct heap *heap = &state->heap;
    const char *wrong = runs_check(&state->runs);
    bool mechanism = heap->setting.mechanism;
    for (uint32_t id = runs_next(&state->runs, NO_BLOCK);
         id != NO_BLOCK && wrong == NULL && mechanism; id = runs_next(&state->runs, id))
        if (heap->blocks[state->described[id]].index_slot != STATE_TABLE)
            wrong = "a run has no descriptor";
    return wrong == NULL ? heap_check(heap) : wrong;
}

static uint64_t cached(const void *memory)
{
    const struct phk *state = memory;
    uint64_t found = 0;
    for (unsigned class = 0; class < CLASSES; class++)
        for (uint32_t number = state->pages.lists[class]; number != NO_PAGE;
             number = state->pages.all[number].after)
            found += state->pages.all[number].freed + (state->pages.all[number].uncut != NO_BLOCK);
    return found;
}

static const char *const order_names[] = {
    [ALMOST_BY_ADDRESS] = "almost", [BY_ADDRESS] = "address", [NEWEST_FIRST] = "newest"};

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct phk, page),
    SIZE_PARAMETER(struct phk, keep),
    CHOICE_PARAMETER(struct phk, chunk_pages, order_names),
};

const struct family phk = {
    .name = "phk",
    FAMILY_OF(struct phk),
    .blocks_an_event = 32,
    .cached = cached,
};
