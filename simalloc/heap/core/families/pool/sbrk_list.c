#include "families/pool/sbrk_list.h"

bool sbrk_list_init(struct sbrk_list *state, uint64_t unit)
{
    return sbrk_init(&state->sbrk) && pool_list_init(&state->list, &state->sbrk.pool.heap, unit);
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
    const struct heap *heap = &state->sbrk.pool.heap;
    const char *wrong = block_list_check(&state->list.tree, true, false);
    if (wrong == NULL && state->sbrk.room != NO_BLOCK && heap_last(heap) != state->sbrk.room)
        wrong = "the spare memory is not at the end of the heap";
    return wrong != NULL ? wrong
                         : pool_check(&state->sbrk.pool,
                                      state->list.tree.blocks + (state->sbrk.room != NO_BLOCK));
}

/* Returns whether a neighbour is a chunk of the list. */
static bool is_listed(const struct sbrk_list *state, uint32_t id)
{
    return id != state->sbrk.room && heap_is_free(&state->sbrk.pool.heap, id);
}

uint64_t sbrk_list_give_back(struct sbrk_list *state, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
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
    sbrk_list_give_back(state, pool_split(&state->sbrk.pool, id, size));
}

uint32_t sbrk_list_cut_front(struct sbrk_list *state, uint32_t id, uint64_t size)
{
    uint32_t rest = pool_split(&state->sbrk.pool, id, size);
    sbrk_list_give_back(state, id);
    return rest;
}

uint32_t sbrk_list_extend(struct sbrk_list *state, uint32_t top, uint64_t more)
{
    if (sbrk_raise(&state->sbrk, more) == NO_BLOCK)
        return NO_BLOCK;
    pool_list_leave(&state->list, top);
    heap_join_next(&state->sbrk.pool.heap, top);
    return top;
}

void sbrk_list_free(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    uint64_t visited = sbrk_list_give_back((struct sbrk_list *)heap, id);
    count_deallocation(heap, visited, coalescings);
}

uint32_t sbrk_list_top(const struct sbrk_list *state)
{
    const struct heap *heap = &state->sbrk.pool.heap;
    uint32_t id = state->sbrk.room == NO_BLOCK ? heap_last(heap) : heap->blocks[state->sbrk.room].previous;
    return heap_is_free(heap, id) ? id : NO_BLOCK;
}

uint64_t sbrk_list_largest(const struct sbrk_list *state)
{
    uint64_t largest = 0;
    POOL_LIST_EACH(&state->list, id)
    {
        uint64_t size = state->sbrk.pool.heap.blocks[id].size;
        largest = size > largest ? size : largest;
    }
    return largest;
}

uint64_t sbrk_list_max(const struct sbrk_list *state, uint32_t top, uint64_t header,
                        uint64_t alignment)
{
    uint64_t chunk = sbrk_list_largest(state), room = sbrk_room(&state->sbrk);
    uint64_t missing = sbrk_missing(&state->sbrk, header, alignment);
    room = room > missing ? room - missing : 0;
    if (top != NO_BLOCK)
        room += state->sbrk.pool.heap.blocks[top].size;
    return room > chunk ? room : chunk;
}

uint64_t sbrk_list_bytes(const struct sbrk_list *state)
{
    uint64_t bytes = 0;
    POOL_LIST_EACH(&state->list, id)
        bytes += state->sbrk.pool.heap.blocks[id].size;
    return bytes;
}
