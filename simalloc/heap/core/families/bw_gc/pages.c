/* The pages of the collector's heap (policy/families/bw_gc.md): the break, tables, and free
 * runs. */
#include "families/bw_gc/bw_gc.h"

/* Raises the break by `size` bytes, and by an additional page if the setting includes the
 * mechanism. Returns the block without the additional page. */
static uint32_t raise_break(struct bw_gc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    bool mechanism = heap->setting.mechanism;
    uint32_t id = heap_extend(heap, size + (mechanism ? state->page : 0));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    if (mechanism) {
        uint32_t lost = heap_cut_high(heap, id, size);
        heap->blocks[lost].index_slot = STATE_WASTE;
        state->objects[lost].page = 0;
    }
    return id;
}

/* Allocates memory for a table, which is never freed. Returns false if the memory is refused. */
static bool take_table(struct bw_gc *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (!heap->setting.mechanism)
        return true;
    if (state->left < size) {
        uint64_t bytes = (17 * state->page + size) / state->page * state->page;
        uint32_t id = raise_break(state, bytes);
        if (id == NO_BLOCK)
            return false;
        heap->blocks[id].index_slot = STATE_TABLE;
        state->left = bytes;
    }
    state->left -= size;
    return true;
}

/* Allocates an index for each stretch that contains some of the pages and has no index. Returns
 * false if memory is refused. */
static bool take_index(struct bw_gc *state, uint64_t address, uint64_t size)
{
    uint64_t stretch = INDEXED * state->page;
    uint64_t bytes = INDEXED * state->heap.setting.word;
    uint64_t end = (address + size - 1) / stretch + 1;
    uint64_t taken = 0;
    for (uint64_t at = address / stretch; at < end && at < STRETCHES; at++) {
        uint64_t bit = (uint64_t)1 << at % 64;
        if (state->indexed[at / 64] & bit)
            continue;
        if (taken++ < ONE_BY_ONE && !take_table(state, bytes))
            return false;
        state->indexed[at / 64] |= bit;
    }
    return taken <= ONE_BY_ONE || take_table(state, (taken - ONE_BY_ONE) * bytes);
}

bool bw_gc_take_map(struct bw_gc *state, bool *taken)
{
    *taken = *taken || take_table(state, 2 * state->page / state->heap.setting.word);
    return *taken;
}

static uint64_t count_runs(const struct bw_gc *state)
{
    return state->heap.counters.free_blocks + state->in_use;
}

/* Allocates headers until `runs` headers exist. Returns false if memory is refused. */
static bool take_headers(struct bw_gc *state, uint64_t runs)
{
    uint64_t word = state->heap.setting.word;
    for (; state->headers < runs; state->headers++)
        if (!take_table(state, 5 * word + (state->page / word + 7) / 8))
            return false;
    return true;
}

void bw_gc_free_run(struct bw_gc *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    runs_free(&state->runs, id);
    state->position = NO_BLOCK;
}

bool bw_gc_expand(struct bw_gc *state, uint64_t pages)
{
    /* one page more than the maximum, which is refused but does not overflow */
    uint64_t most = MAX_BREAK / state->page + 1;
    uint32_t id = raise_break(state, (pages < most ? pages : most) * state->page);
    if (id == NO_BLOCK)
        return false;
    state->pages_of_heap += pages;
    bool has_tables = take_index(state, state->heap.blocks[id].address, state->page) &&
                      take_headers(state, count_runs(state) + 1);
    bw_gc_free_run(state, id);
    return has_tables;
}

bool bw_gc_begin(struct bw_gc *state)
{
    struct heap *heap = &state->heap;
    for (unsigned table = 0; table < 3; table++)
        if (!take_table(state, AVOIDED_PAGES))
            return false;
    if (heap->setting.mechanism) {
        uint32_t stack = raise_break(state, 2 * heap->setting.word * state->page);
        if (stack == NO_BLOCK)
            return false;
        heap->blocks[stack].index_slot = STATE_TABLE;
    }
    return bw_gc_expand(state, state->increment) && bw_gc_take_map(state, &state->runs_have_map);
}

/* Returns the next run by address, or the lowest run after the highest. Returns NO_BLOCK if no run
 * exists. */
static uint32_t run_behind(const struct bw_gc *state, uint32_t id)
{
    uint32_t next = runs_next(&state->runs, id);
    return next == NO_BLOCK ? runs_next(&state->runs, NO_BLOCK) : next;
}

/* Returns the first sufficient run from the search position on, or NO_BLOCK. While the run right
 * behind it is smaller and also sufficient, chooses that run instead. */
static uint32_t find_run(struct bw_gc *state, uint64_t size)
{
    const struct block *blocks = state->heap.blocks;
    uint32_t from = runs_next(&state->runs, state->position);
    uint32_t id = runs_find(&state->runs, from, size, &state->visited);
    uint32_t next = run_behind(state, id);
    while (blocks[next].size < blocks[id].size && blocks[next].size >= size) {
        id = next;
        next = run_behind(state, id);
        state->visited++;
    }
    return id;
}

uint32_t bw_gc_put_back(struct bw_gc *state, uint32_t id)
{
    state->in_use--;
    bw_gc_free_run(state, id);
    return NO_BLOCK;
}

uint32_t bw_gc_take_run(struct bw_gc *state, uint64_t size)
{
    uint32_t id = find_run(state, size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint32_t next = runs_next(&state->runs, id);
    uint32_t rest;
    uint32_t taken = runs_take(&state->runs, id, size, &rest);
    state->heap.blocks[taken].index_slot = STATE_WASTE;
    state->position = rest == NO_BLOCK ? next : rest;
    state->in_use++;
    uint64_t address = state->heap.blocks[taken].address;
    bool has_tables = (rest == NO_BLOCK || take_index(state, address + size, state->page)) &&
                      take_headers(state, count_runs(state)) && take_index(state, address, size);
    return has_tables ? taken : bw_gc_put_back(state, taken);
}
