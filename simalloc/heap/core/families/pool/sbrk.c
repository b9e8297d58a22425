#include "families/pool/sbrk.h"

#include "families/pool/larger.h"

bool sbrk_init(struct sbrk *state)
{
    struct heap *heap = &state->pool.heap;
    state->room = pool_add_region(&state->pool, 0, state->pool.capacity);
    if (state->room == NO_BLOCK)
        return false;
    heap_mark(heap, state->room, STATE_FREE);
    heap->same_for = UINT64_MAX;
    return true;
}

uint32_t sbrk_raise(struct sbrk *state, uint64_t size)
{
    struct heap *heap = &state->pool.heap;
    uint32_t id = state->room;
    if (size > sbrk_room(state)) {
        differs_from(heap, size - sbrk_room(state));
        return NO_BLOCK;
    }
    if (size < sbrk_room(state)) {
        id = pool_split(&state->pool, id, size);
        uint32_t low = state->room;
        state->room = id;
        id = low;
    } else {
        state->room = NO_BLOCK;
    }
    pool_hand_out(&state->pool, id);
    heap_mark(heap, id, STATE_WASTE);
    return id;
}

uint32_t sbrk_raise_aligned(struct sbrk *state, uint64_t size, uint64_t header,
                            uint64_t alignment)
{
    struct pool *pool = &state->pool;
    uint64_t missing = sbrk_missing(state, header, alignment);
    uint32_t id = sbrk_raise(state, size);
    if (id == NO_BLOCK || missing == 0)
        return id;
    if (!sbrk_extend(state, id, missing)) {
        pool_close(pool, id, 0);
        return NO_BLOCK;
    }
    return pool_take_table(pool, id, missing);
}

bool sbrk_extend(struct sbrk *state, uint32_t id, uint64_t size)
{
    if (sbrk_raise(state, size) == NO_BLOCK)
        return false;
    heap_join_next(&state->pool.heap, id);
    return true;
}

void sbrk_lower(struct sbrk *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    if (state->room != NO_BLOCK) {
        heap_mark(heap, state->room, STATE_WASTE);
        heap_join_next(heap, id);
    }
    heap_mark(heap, id, STATE_FREE);
    state->room = id;
}
