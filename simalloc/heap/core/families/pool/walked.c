#include "families/pool/walked.h"

#include "families/pool/larger.h"

uint32_t walked_take(struct walked *state, uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint64_t visited;
    uint32_t id = walked_from(heap, state->lowest, size, &visited);
    count_search(heap, visited);
    if (walked_is_end(heap, id)) {
        note_refusal(heap, size);
        return NO_BLOCK;
    }
    heap_mark(heap, id, STATE_WASTE);
    return id;
}

void walked_hand_out(struct walked *state, uint32_t id, uint64_t size, uint64_t least)
{
    struct heap *heap = &state->pool.heap;
    uint64_t visited;
    if (heap->blocks[id].size >= size + least)
        heap_mark(heap, pool_split(&state->pool, id, size), STATE_FREE);
    else
        note_unsplit(heap, id, size + least - heap->blocks[id].size);
    pool_hand_out(&state->pool, id);
    if (id == state->lowest)
        state->lowest = walked_from(heap, id, 0, &visited);
}

static void give_back(struct walked *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint64_t lowest = heap->blocks[state->lowest].address;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    if (heap_is_free(heap, above)) {
        heap_mark(heap, above, STATE_WASTE);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        heap_mark(heap, below, STATE_WASTE);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    heap_mark(heap, id, STATE_FREE);
    if (heap->blocks[id].address <= lowest)
        state->lowest = id;
}

void walked_free(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    give_back((struct walked *)heap, id);
    count_deallocation(heap, 0, coalescings);
}

void walked_cut(struct walked *state, uint32_t id, uint64_t size)
{
    uint32_t rest = pool_split(&state->pool, id, size);
    heap_mark(&state->pool.heap, rest, STATE_WASTE);
    give_back(state, rest);
}

bool walked_init(struct walked *state, uint64_t start, uint64_t end, uint64_t bytes)
{
    struct pool *pool = &state->pool;
    uint32_t id = pool_add_region(pool, 0, bytes);
    if (id == NO_BLOCK)
        return false;
    id = pool_take_table(pool, id, start);
    pool_close(pool, id, end - start);
    heap_mark(&pool->heap, id, STATE_FREE);
    state->lowest = id;
    return true;
}

const char *walked_check(const struct walked *state)
{
    const struct heap *heap = &state->pool.heap;
    uint32_t lowest = heap_last(heap);
    uint64_t count = 0;
    for (uint32_t id = lowest; id != NO_BLOCK; id = heap->blocks[id].previous) {
        if (!heap_is_free(heap, id))
            continue;
        count++;
        lowest = id;
        if (heap_is_free(heap, heap->blocks[id].next))
            return "two free blocks are adjacent";
    }
    if (lowest != state->lowest)
        return "the recorded lowest free block is wrong";
    return pool_check(&state->pool, count);
}

uint64_t walked_largest(const struct walked *state)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t largest = 0;
    for (uint32_t id = state->lowest; !walked_is_end(heap, id); id = heap->blocks[id].next)
        if (heap_is_free(heap, id) && heap->blocks[id].size > largest)
            largest = heap->blocks[id].size;
    return largest;
}
