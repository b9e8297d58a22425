/* Vo's Vmalloc with the method Vmbest (policy/families/vmalloc.md). */
#include "families/vmalloc/vmalloc.h"
#include "layers/define_layer.h"

static uint32_t find_tiny(const struct vmalloc *state, uint64_t size)
{
    if (state->free_tiny > 0)
        for (; is_tiny(state, size); size++)
            if (state->tiny[size].newest != NO_BLOCK)
                return state->tiny[size].newest;
    return NO_BLOCK;
}

/* Step 3 of an allocation: finds a free block, after reclaiming if necessary. */
static uint32_t find_free(struct vmalloc *state, uint64_t size)
{
    for (;;) {
        uint32_t id = find_tiny(state, size);
        if (id != NO_BLOCK)
            return id;
        if (state->catch_all.newest != NO_BLOCK)
            vmalloc_reclaim(state, state->tiny_below);
        id = groups_best(&state->tree, size);
        if (id != NO_BLOCK || !vmalloc_reclaim(state, 0))
            return id;
    }
}

/* Raises the break. The new memory, merged with a free block before it, is not counted as
 * allocated. */
static uint32_t grow(struct vmalloc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    const struct setting *setting = &heap->setting;
    bool first = heap->brk == 0;
    uint64_t need = size;
    uint64_t table = 0;
    if (setting->mechanism) {
        need += 12 * setting->word + state->header + 16;
        table = 8 * setting->word + state->header;
    }
    need = round_up(need, state->growth);
    uint64_t have = state->wild == NO_BLOCK ? 0 : size_of(state, state->wild);
    have -= have % state->growth;
    if (!first && have == need)
        need += state->growth;
    uint32_t id = heap_extend(heap, need - have);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    if (first && table > 0)
        heap->blocks[heap_cut_low(heap, id, table)].index_slot = STATE_TABLE;
    uint32_t below = heap->blocks[id].previous;
    if (heap_is_free(heap, below)) {
        take_out(state, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    return id;
}

/* Takes the low end of a block. The remainder waits in the slot, or becomes the wild block. */
static uint32_t use(struct vmalloc *state, uint32_t id, uint64_t size, bool may_be_wild)
{
    struct heap *heap = &state->heap;
    if (size_of(state, id) - size >= heap->setting.minimum) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->blocks[rest].family_data = NOT_MARKED;
        if (may_be_wild && state->tree.block_count > 0 && heap_last(heap) == rest) {
            heap->blocks[rest].index_slot = STATE_FREE;
            heap_count_free(heap, rest);
            state->wild = rest;
        } else {
            wait_on(state, NULL, rest, IN_SLOT);
        }
    }
    heap->blocks[id].family_data = NOT_MARKED;
    heap->counters.allocated += size_of(state, id);
    return id;
}

static uint32_t place(struct vmalloc *state, uint64_t size, uint64_t *visited)
{
    uint32_t id = is_tiny(state, size) ? state->caches[size].newest : NO_BLOCK;
    if (id != NO_BLOCK) {
        ++*visited;
        wait_no_more(state, id);
        state->heap.counters.allocated += size;
        return id;
    }
    id = state->slot;
    *visited += id != NO_BLOCK;
    if (id != NO_BLOCK && size_of(state, id) >= size) {
        wait_no_more(state, id);
        return use(state, id, size, false);
    }
    vmalloc_empty_slot(state);
    id = find_free(state, size);
    ++*visited;
    if (id == NO_BLOCK && state->wild != NO_BLOCK && size_of(state, state->wild) >= size)
        id = state->wild;
    if (id != NO_BLOCK)
        take_out(state, id);
    else
        id = grow(state, size);
    return id == NO_BLOCK ? NO_BLOCK : use(state, id, size, true);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = place((struct vmalloc *)heap, size, &visited);
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct vmalloc *state = (struct vmalloc *)heap;
    uint64_t size = size_of(state, id);
    heap->counters.allocated -= size;
    if (is_tiny(state, size))
        wait_on(state, &state->caches[size], id, IN_CACHE);
    else if (state->slot == NO_BLOCK)
        wait_on(state, NULL, id, IN_SLOT);
    else
        wait_on(state, &state->catch_all, id, IN_CATCH_ALL);
    if (size >= state->page + state->header && heap_is_free(heap, heap->blocks[id].previous))
        vmalloc_reclaim(state, 0);
}

/* Joins a block with free and waiting blocks behind it until it has `size` bytes. */
static void take_in(struct vmalloc *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    while (size_of(state, id) < size) {
        uint32_t above = heap->blocks[id].next;
        if (vmalloc_waits(state, above) && heap->blocks[above].family_data == IN_SLOT) {
            wait_no_more(state, above);
        } else if (vmalloc_waits(state, above)) {
            uint64_t waiting = size_of(state, above);
            state->wanted = above;
            vmalloc_reclaim(state, is_tiny(state, waiting) ? waiting : state->tiny_below);
            state->wanted = NO_BLOCK;
        } else if (heap_is_free(heap, above)) {
            take_out(state, above);
        } else {
            return;
        }
        heap->counters.allocated += size_of(state, above);
        heap_join_next(heap, id);
    }
}

/* Puts a block on the catch-all list. Then also moves the block in the slot to that list. */
static void throw_away(struct vmalloc *state, uint32_t id)
{
    state->heap.counters.allocated -= size_of(state, id);
    wait_on(state, &state->catch_all, id, IN_CATCH_ALL);
    vmalloc_empty_slot(state);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct vmalloc *state = (struct vmalloc *)heap;
    uint64_t data = size - state->header;
    uint64_t more = data < 8 * heap->setting.word ? data : data < 1024 ? data / 2 : 1024;
    take_in(state, id, size);
    uint64_t have = size_of(state, id);
    if (have < size && data > state->growth && heap_last(heap) == id) {
        uint32_t new = heap_extend(heap, round_up(size - have + state->header, state->growth));
        if (new == NO_BLOCK)
            return NO_BLOCK;
        heap->counters.growths++;
        heap->counters.allocated += size_of(state, new);
        heap_join_next(heap, id);
        have = size_of(state, id);
    }
    if (have >= size) {
        if (have >= size + more + heap->setting.minimum) {
            uint32_t high = heap_cut_high(heap, id, size);
            heap->counters.splits++;
            throw_away(state, high);
        }
        return id;
    }
    uint64_t wanted = round_up(have + more, heap->setting.alignment);
    uint32_t other = heap->front->allocate(heap, wanted < size ? size : wanted);
    if (other != NO_BLOCK)
        throw_away(state, id);
    return other;
}

static bool reserve(struct heap *heap)
{
    struct vmalloc *state = (struct vmalloc *)heap;
    return heap_reserve(heap) && groups_reserve(&state->tree) &&
           links_reserve(&state->links, heap->capacity);
}

DEFINE_ONLY_LAYER(vmalloc, true, allocate, release, reserve, .reallocate = reallocate_block)

static struct chain *make_chains(uint64_t count)
{
    if (count > MAX_TINY_SIZES)
        return NULL;
    return table_make(sizeof(struct chain), (uint32_t)count);
}

static bool init(void *memory)
{
    struct vmalloc *state = memory;
    struct heap *heap = &state->heap;
    const struct setting *setting = &heap->setting;
    state->header = setting->header;
    state->tiny_below = 56 + 2 * setting->word + state->header;
    state->caches = make_chains(state->tiny_below);
    state->tiny = make_chains(state->tiny_below);
    uint64_t unit = heap_unit(heap) | state->growth | state->header;
    if (setting->mechanism)
        unit |= setting->word;
    return state->caches != NULL && state->tiny != NULL &&
           groups_init(&state->tree, heap, unit);
}

static void release_all(void *memory)
{
    struct vmalloc *state = memory;
    table_release(state->caches);
    table_release(state->tiny);
    links_release(&state->links);
    groups_release(&state->tree);
}

static uint64_t cached(const void *memory)
{
    const struct vmalloc *state = memory;
    return state->cached_tiny + state->catch_all.count + (state->slot != NO_BLOCK);
}

static const char *check(const void *memory)
{
    const struct vmalloc *state = memory;
    const struct heap *heap = &state->heap;
    if (state->wild != NO_BLOCK && heap_last(heap) != state->wild)
        return "the wild block does not end at the break";
    if (state->pending.count != 0)
        return "a free block is still pending outside the tree";
    uint64_t blocks = state->tree.block_count + state->free_tiny + (state->wild != NO_BLOCK);
    if (blocks != heap->counters.free_blocks)
        return "the free blocks are miscounted";
    const char *wrong = heap_check(heap);
    return wrong == NULL ? groups_check(&state->tree) : wrong;
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct vmalloc, growth),
    UNIT_PARAMETER(struct vmalloc, page),
};

const struct family vmalloc = {
    .name = "vmalloc",
    FAMILY_OF(struct vmalloc),
    .blocks_an_event = 4,
    .cached = cached,
};
