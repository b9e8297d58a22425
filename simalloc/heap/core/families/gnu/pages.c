/* The pages of GNU malloc (policy/families/gnu.md): free runs, the break, and the page table. */
#include "families/gnu/gnu.h"

void gnu_free_run(struct gnu *state, uint32_t id)
{
    state->index = runs_free(&state->runs, id);
}

void gnu_free_pages(struct gnu *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    gnu_free_run(state, id);
    id = state->index;
    if (heap->blocks[id].size < state->returned || heap->brk != state->limit ||
        heap->blocks[id].next != NO_BLOCK)
        return;
    runs_remove(&state->runs, id);
    state->limit -= heap->blocks[id].size;
    heap_lower(heap, heap->blocks[id].size);
    state->index = runs_highest(&state->runs);
}

static uint64_t table_bytes(const struct gnu *state, uint64_t entries)
{
    return round_up(entries * 3 * state->heap.setting.word, state->page);
}

bool gnu_new_table(struct gnu *state)
{
    struct heap *heap = &state->heap;
    uint32_t table = heap_extend(heap, table_bytes(state, state->entries));
    if (table == NO_BLOCK)
        return false;
    heap->counters.growths++;
    heap->blocks[table].index_slot = STATE_TABLE;
    state->table = table;
    return true;
}

/* Returns the number of entries of a page table for a heap up to this break: the current number,
 * doubled until it suffices. */
static uint64_t entries_for(const struct gnu *state, uint64_t brk)
{
    uint64_t entries = state->entries;
    if (state->heap.setting.mechanism)
        while (entries < brk / state->page + 1)
            entries *= 2;
    return entries;
}

/* Allocates a larger page table if the heap has outgrown the current one, which it then frees.
 * Returns false if memory is refused. */
static bool grow_table(struct gnu *state)
{
    struct heap *heap = &state->heap;
    uint64_t entries = entries_for(state, heap->brk);
    if (entries == state->entries)
        return true;
    state->entries = entries;
    uint32_t old = state->table;
    if (!gnu_new_table(state))
        return false;
    heap->blocks[old].index_slot = STATE_ALLOCATED;
    gnu_free_pages(state, old);
    return true;
}

/* Takes the low end of a run. The next search begins at the remainder, or at the next run if no
 * remainder exists. */
static uint32_t use_run(struct gnu *state, uint32_t id, uint64_t size)
{
    uint32_t next = runs_next(&state->runs, id);
    uint32_t rest;
    uint32_t taken = runs_take(&state->runs, id, size, &rest);
    state->index = rest == NO_BLOCK ? next : rest;
    return taken;
}

bool gnu_has_room(struct gnu *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (!heap_has_room(heap, size) || size > MAX_BREAK)
        return false;
    uint64_t entries = entries_for(state, heap->brk + size);
    return entries == state->entries || heap_has_room(heap, size + table_bytes(state, entries));
}

/* Raises the break. Returns the requested pages, not yet counted as allocated. */
static uint32_t grow(struct gnu *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t last = runs_highest(&state->runs);
    bool merges = last != NO_BLOCK && heap->blocks[last].next == NO_BLOCK &&
                  heap->brk == state->limit;
    uint64_t more = size - (merges ? heap->blocks[last].size : 0);
    if (heap->limit != UINT64_MAX && !gnu_has_room(state, more))
        return heap_refuse(heap);
    uint32_t id = heap_extend(heap, more);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    state->limit = heap->brk;
    if (!grow_table(state))
        return NO_BLOCK;
    return merges ? use_run(state, runs_free(&state->runs, id), size) : id;
}

uint32_t gnu_take_pages(struct gnu *state, uint64_t size)
{
    uint32_t id = runs_find(&state->runs, state->index, size, &state->visited);
    return id == NO_BLOCK ? grow(state, size) : use_run(state, id, size);
}
