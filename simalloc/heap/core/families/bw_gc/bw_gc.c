/* The garbage collector of Boehm, Demers and Weiser (policy/families/bw_gc.md). */
#include "families/bw_gc/bw_gc.h"
#include "layers/define_layer.h"

/* Returns the block size for a small request, in words. */
static uint64_t words_of(const struct bw_gc *state, uint64_t size)
{
    uint64_t word = state->heap.setting.word;
    uint64_t words = (size + word - 1) / word;
    if (size - state->extra <= 8 * word)
        return words;
    unsigned shift = 61 - (unsigned)__builtin_clzll(words); /* words >> shift is 4 to 7 */
    uint64_t quarter = words >> shift;
    return (quarter + (words != quarter << shift)) << shift;
}

static unsigned class_of(uint64_t words)
{
    if (words < DIRECT_CLASSES)
        return (unsigned)words;
    unsigned shift = 61 - (unsigned)__builtin_clzll(words);
    return DIRECT_CLASSES + 4 * (shift - 1) + (unsigned)(words >> shift) - 4;
}

static uint64_t small_size(const struct bw_gc *state, uint64_t size)
{
    return words_of(state, size) * state->heap.setting.word;
}

static bool is_small(const struct bw_gc *state, uint64_t size)
{
    return size <= state->page / 2;
}

/* Joins the objects of a page without live objects into one block and frees it. */
static void dissolve(struct bw_gc *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    uint32_t id = state->pages[number].base;
    heap_join_all(heap, id, state->page);
    state->pages[number].next = state->unused;
    state->unused = number;
    state->in_use--;
    bw_gc_free_run(state, id);
}

/* Moves the first page of a list to the front of another list. */
static void move_page(struct bw_gc *state, uint32_t *from, uint32_t *to)
{
    uint32_t number = *from;
    *from = state->pages[number].next;
    state->pages[number].next = *to;
    *to = number;
}

static uint64_t index_of(const struct bw_gc *state, uint32_t number)
{
    return state->heap.blocks[state->pages[number].base].address / (INDEXED * state->page);
}

/* Adds a list of pages, sorted by address, to the waiting lists: index by index, and within an
 * index in descending order. The page added last is swept first. */
static void let_wait(struct bw_gc *state, uint32_t pages)
{
    while (pages != NO_PAGE) {
        uint64_t index = index_of(state, pages);
        uint32_t downwards = NO_PAGE;
        while (pages != NO_PAGE && index_of(state, pages) == index)
            move_page(state, &pages, &downwards);
        while (downwards != NO_PAGE)
            move_page(state, &downwards, &state->small[state->pages[downwards].class].waiting);
    }
}

static void collect(struct bw_gc *state)
{
    struct heap *heap = &state->heap;
    uint32_t kept = NO_PAGE;
    for (unsigned class = 0; class < CLASSES; class++) {
        state->small[class].freed = NO_BLOCK;
        state->small[class].page = NO_PAGE;
        state->small[class].waiting = NO_PAGE;
    }
    state->allocated = state->freed_words = 0;
    state->collections++;
    uint32_t id = heap_last(heap);
    while (id != NO_BLOCK) {
        uint32_t number = state->objects[id].page;
        uint32_t below = heap->blocks[id].previous;
        bool is_object = heap->blocks[id].index_slot != STATE_TABLE && !heap_is_free(heap, id);
        if (is_object && number != 0) {
            struct page *page = &state->pages[number - 1];
            below = heap->blocks[page->base].previous;
            if (page->live == 0) {
                dissolve(state, number - 1);
            } else {
                page->next = kept;
                kept = number - 1;
            }
        } else if (heap->blocks[id].index_slot == STATE_CACHED && state->objects[id].died != 0) {
            heap_mark(heap, id, STATE_WASTE);
            state->in_use--;
            bw_gc_free_run(state, id);
        }
        id = below;
    }
    let_wait(state, kept);
}

static void collect_or_expand(struct bw_gc *state, uint64_t needed)
{
    uint64_t a = state->allocated;
    uint64_t f = state->freed_words;
    uint64_t use = a < f || a - f < a / 4 ? a / 8 : a - f;
    uint64_t scanned = state->pages_of_heap * state->page + state->roots;
    if (use > 0 && use >= scanned / state->heap.setting.word / state->divisor) {
        collect(state);
        return;
    }
    uint64_t pages = state->increment + needed;
    if (pages > 2 * state->increment)
        state->increment = pages / 2;
    if (!bw_gc_expand(state, pages))
        return;
    state->increment = state->increment * 3 / 2;
    if (state->increment > state->most)
        state->increment = state->most;
}

static uint32_t new_page_number(struct bw_gc *state)
{
    uint32_t number = state->unused;
    if (number == NO_PAGE)
        return state->page_count++;
    state->unused = state->pages[number].next;
    return number;
}

/* Makes a page for small objects. Returns false if no run fits or if memory for a table is
 * refused. */
static bool new_page(struct bw_gc *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint64_t size = state->small[class].size;
    uint32_t id = bw_gc_take_run(state, state->page);
    if (id == NO_BLOCK)
        return false;
    if (!bw_gc_take_map(state, &state->small[class].has_map)) {
        bw_gc_put_back(state, id);
        return false;
    }
    uint32_t number = new_page_number(state);
    uint64_t used = state->page / size * size;
    if (used < state->page) {
        uint32_t rest = heap_cut_high(heap, id, used);
        heap->blocks[rest].index_slot = STATE_WASTE;
        state->objects[rest] = (struct object){.page = number + 1};
    }
    heap_mark(heap, id, STATE_CACHED);
    state->objects[id] = (struct object){.page = number + 1, .died = 1};
    state->pages[number] = (struct page){.base = id, .uncut = id, .next = NO_PAGE, .class = class};
    state->small[class].page = number;
    return true;
}

/* Puts the dead objects of the next waiting page into the free list. */
static void sweep(struct bw_gc *state, unsigned class)
{
    struct heap *heap = &state->heap;
    struct small *small = &state->small[class];
    uint32_t number = small->waiting;
    struct page *page = &state->pages[number];
    small->waiting = page->next;
    small->page = number;
    for (uint32_t id = page->base; id != NO_BLOCK && state->objects[id].page == number + 1 &&
                                   heap->blocks[id].index_slot != STATE_TABLE &&
                                   !heap_is_free(heap, id);
         id = heap->blocks[id].next) {
        uint32_t died = state->objects[id].died;
        if (id == page->uncut || heap->blocks[id].index_slot != STATE_CACHED || died == 0 ||
            died > state->collections)
            continue;
        heap->blocks[id].family_data = small->freed;
        small->freed = id;
    }
}

/* Takes a free object of a class, from the free list or the current page. Returns NO_BLOCK if
 * neither has one. */
static uint32_t take_free(struct bw_gc *state, unsigned class)
{
    struct heap *heap = &state->heap;
    struct small *small = &state->small[class];
    uint32_t id = small->freed;
    if (id != NO_BLOCK) {
        small->freed = heap->blocks[id].family_data;
        return id;
    }
    if (small->page == NO_PAGE || state->pages[small->page].uncut == NO_BLOCK)
        return NO_BLOCK;
    struct page *page = &state->pages[small->page];
    id = page->uncut;
    if (heap->blocks[id].size > small->size) {
        id = heap_cut_off(heap, id, heap->blocks[id].size - small->size);
        state->objects[id] = (struct object){.page = small->page + 1};
    } else {
        page->uncut = NO_BLOCK;
    }
    return id;
}

static uint32_t allocate_small(struct bw_gc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    unsigned class = class_of(words_of(state, size));
    struct small *small = &state->small[class];
    small->size = small_size(state, size);
    uint32_t id;
    while ((id = take_free(state, class)) == NO_BLOCK) {
        if (small->waiting != NO_PAGE)
            sweep(state, class);
        else if (!new_page(state, class) && !heap_is_stopped(heap))
            collect_or_expand(state, 1);
        if (heap_is_stopped(heap))
            return NO_BLOCK;
    }
    state->visited++;
    state->pages[state->objects[id].page - 1].live++;
    state->objects[id].words = small->size / heap->setting.word;
    return id;
}

static uint32_t allocate_large(struct bw_gc *state, uint64_t size)
{
    uint64_t whole = round_up(size, state->page);
    uint32_t id;
    while ((id = bw_gc_take_run(state, whole)) == NO_BLOCK) {
        if (!heap_is_stopped(&state->heap))
            collect_or_expand(state, whole / state->page);
        if (heap_is_stopped(&state->heap))
            return NO_BLOCK;
    }
    if (!bw_gc_take_map(state, &state->large_have_map))
        return bw_gc_put_back(state, id);
    uint64_t word = state->heap.setting.word;
    state->objects[id] = (struct object){.words = (size + word - 1) / word};
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct bw_gc *state = (struct bw_gc *)heap;
    if (heap->brk == 0 && !bw_gc_begin(state))
        return NO_BLOCK;
    state->visited = 0;
    uint32_t id = is_small(state, size) ? allocate_small(state, size) : allocate_large(state, size);
    count_search(heap, state->visited);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap_mark(heap, id, STATE_ALLOCATED);
    state->objects[id].died = 0;
    state->allocated += state->objects[id].words;
    return id;
}

/* Turns an object into garbage. */
static void release(struct heap *heap, uint32_t id)
{
    struct bw_gc *state = (struct bw_gc *)heap;
    heap_mark(heap, id, STATE_CACHED);
    state->objects[id].died = state->collections + 1;
    if (state->objects[id].page != 0)
        state->pages[state->objects[id].page - 1].live--;
}

/* Frees an object immediately, without a collection. */
static void give_back(struct bw_gc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    state->freed_words += heap->blocks[id].size / heap->setting.word;
    release(heap, id);
    if (state->objects[id].page != 0) {
        struct small *small = &state->small[state->pages[state->objects[id].page - 1].class];
        heap->blocks[id].family_data = small->freed;
        small->freed = id;
        return;
    }
    heap_mark(heap, id, STATE_WASTE);
    state->in_use--;
    bw_gc_free_run(state, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    const struct bw_gc *state = (const struct bw_gc *)heap;
    uint64_t old = heap->blocks[id].size;
    return size <= old && 2 * (size - state->extra) >= old;
}

static uint32_t reallocate_object(struct heap *heap, uint32_t id, uint64_t size)
{
    struct bw_gc *state = (struct bw_gc *)heap;
    if (resize(heap, id, size))
        return id;
    uint32_t new = heap->front->allocate(heap, size);
    if (new != NO_BLOCK)
        give_back(state, id);
    return new;
}

static bool reserve(struct heap *heap)
{
    struct bw_gc *state = (struct bw_gc *)heap;
    return heap_reserve(heap) &&
           TABLE_COVER(state->objects, state->object_capacity, heap->capacity - 1) &&
           TABLE_SPARE(state->pages, state->page_count, BATCH, NO_PAGE - 1, state->page_capacity);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct bw_gc *state = (const struct bw_gc *)heap;
    return is_small(state, size) ? small_size(state, size) : round_up(size, state->page);
}

DEFINE_ONLY_LAYER(bw_gc, false, allocate, release, reserve, .resize = resize,
                  .reallocate = reallocate_object, .rounded = rounded)

static bool init(void *memory)
{
    struct bw_gc *state = memory;
    state->extra = state->heap.setting.mechanism;
    state->unused = NO_PAGE;
    for (unsigned class = 0; class < CLASSES; class++)
        state->small[class] =
            (struct small){.freed = NO_BLOCK, .page = NO_PAGE, .waiting = NO_PAGE};
    return runs_init(&state->runs, &state->heap, state->page);
}

static void release_all(void *memory)
{
    struct bw_gc *state = memory;
    table_release(state->pages);
    table_release(state->objects);
    runs_release(&state->runs);
}

static const char *check(const void *memory)
{
    const struct bw_gc *state = memory;
    const char *wrong = runs_check(&state->runs);
    return wrong == NULL ? heap_check(&state->heap) : wrong;
}

static uint64_t cached(const void *memory)
{
    const struct bw_gc *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t found = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next)
        found += heap->blocks[id].index_slot == STATE_CACHED && state->objects[id].died != 0;
    return found;
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct bw_gc, page),
    SIZE_PARAMETER(struct bw_gc, roots),
    UNIT_PARAMETER(struct bw_gc, divisor),
    UNIT_PARAMETER(struct bw_gc, increment),
    UNIT_PARAMETER(struct bw_gc, most),
};

const struct family bw_gc = {
    .name = "bw-gc",
    FAMILY_OF(struct bw_gc),
    .blocks_an_event = 64,
    .cached = cached,
};
