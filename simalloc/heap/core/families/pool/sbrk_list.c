#include "families/pool/sbrk_list.h"

#include "families/pool/larger.h"

bool sbrk_list_init(struct sbrk_list *state, uint64_t unit)
{
    struct heap *heap = &state->pool.heap;
    state->room = pool_add_region(&state->pool, 0, state->pool.capacity);
    if (state->room == NO_BLOCK)
        return false;
    heap_mark(heap, state->room, STATE_FREE);
    heap->same_for = UINT64_MAX;
    return pool_list_init(&state->list, heap, unit);
}

bool sbrk_list_reserve(struct heap *heap)
{
    return pool_list_reserve(&((struct sbrk_list *)heap)->list, heap);
}

void sbrk_list_release(void *memory)
{
    block_list_release(&((struct sbrk_list *)memory)->list.tree);
}

const char *sbrk_list_check(const void *memory)
{
    const struct sbrk_list *state = memory;
    const struct heap *heap = &state->pool.heap;
    const char *wrong = block_list_check(&state->list.tree, true, false);
    if (wrong == NULL && state->room != NO_BLOCK && heap_last(heap) != state->room)
        wrong = "the room is not at the end";
    return wrong != NULL ? wrong
                         : pool_check(&state->pool,
                                      state->list.tree.blocks + (state->room != NO_BLOCK));
}

uint32_t sbrk_raise(struct sbrk_list *state, uint64_t size)
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

uint32_t sbrk_raise_aligned(struct sbrk_list *state, uint64_t size, uint64_t header,
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

bool sbrk_extend(struct sbrk_list *state, uint32_t id, uint64_t size)
{
    if (sbrk_raise(state, size) == NO_BLOCK)
        return false;
    heap_join_next(&state->pool.heap, id);
    return true;
}

void sbrk_lower(struct sbrk_list *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    if (state->room != NO_BLOCK) {
        heap_mark(heap, state->room, STATE_WASTE);
        heap_join_next(heap, id);
    }
    heap_mark(heap, id, STATE_FREE);
    state->room = id;
}

/* Is a neighbour a chunk of the list? */
static bool is_listed(const struct sbrk_list *state, uint32_t id)
{
    return id != state->room && heap_is_free(&state->pool.heap, id);
}

uint64_t sbrk_list_give_back(struct sbrk_list *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next, below = heap->blocks[id].previous;
    uint64_t before = pool_list_rank(&state->list, heap->blocks[id].address);
    if (is_listed(state, above)) {
        pool_list_leave(&state->list, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (is_listed(state, below)) {
        pool_list_leave(&state->list, below);
        heap_join_previous(heap, id);
        heap->counters.coalescings++;
    }
    pool_list_enter(&state->list, id);
    return before;
}

void sbrk_list_cut(struct sbrk_list *state, uint32_t id, uint64_t size)
{
    sbrk_list_give_back(state, pool_split(&state->pool, id, size));
}

void sbrk_list_free(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    uint64_t visited = sbrk_list_give_back((struct sbrk_list *)heap, id);
    count_deallocation(heap, visited, coalescings);
}

uint32_t sbrk_list_free_instead(struct heap *heap, uint32_t id)
{
    sbrk_list_free(heap, id);
    heap->request.is_freed = true;
    return NO_BLOCK;
}

uint32_t sbrk_list_top(const struct sbrk_list *state)
{
    const struct heap *heap = &state->pool.heap;
    uint32_t id = state->room == NO_BLOCK ? heap_last(heap) : heap->blocks[state->room].previous;
    return heap_is_free(heap, id) ? id : NO_BLOCK;
}

uint64_t sbrk_list_largest(const struct sbrk_list *state)
{
    uint64_t largest = 0;
    POOL_LIST_EACH(&state->list, id)
    {
        uint64_t size = state->pool.heap.blocks[id].size;
        largest = size > largest ? size : largest;
    }
    return largest;
}

uint64_t sbrk_list_bytes(const struct sbrk_list *state)
{
    uint64_t bytes = 0;
    POOL_LIST_EACH(&state->list, id)
        bytes += state->pool.heap.blocks[id].size;
    return bytes;
}
