/* MicroPython's heap without garbage collection: first fit over a table of blocks
 * (simalloc/policy/pool/micropython.md). */
#include "families/pool/pool_list.h"

enum { IN_BYTE = 4 }; /* number of blocks that a byte of the table describes */

struct micropython {
    struct pool pool;
    struct pool_list list;
    uint64_t block;
    uint64_t first;
    uint64_t blocks;
    /* Byte of the table at which a search begins; all blocks before it are in use. */
    uint64_t last_free;
};

static uint64_t number_of(const struct micropython *state, uint32_t id)
{
    return (state->pool.heap.blocks[id].address - state->first) / state->block;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct micropython *state = (struct micropython *)heap;
    uint64_t wanted = round_up(heap->request.size, state->block), visited;
    (void)size;
    if (wanted == 0)
        return NO_BLOCK;
    uint32_t id = pool_list_first(&state->list, wanted, &visited);
    uint64_t end = id == NO_BLOCK ? state->blocks : number_of(state, id) + wanted / state->block;
    count_search(heap, end - IN_BYTE * state->last_free);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (heap->blocks[id].size > wanted)
        id = pool_list_cut(&state->list, id, wanted);
    else
        pool_list_leave(&state->list, id);
    pool_hand_out(&state->pool, id);
    if (wanted == state->block)
        state->last_free = (number_of(state, id) + 1) / IN_BYTE;
    return id;
}

static void take_out(struct heap *heap, uint32_t id)
{
    pool_list_leave(&((struct micropython *)heap)->list, id);
}

/* Frees a waste run. */
static void give_back(struct micropython *state, uint32_t id)
{
    uint64_t byte = number_of(state, id) / IN_BYTE;
    state->last_free = byte < state->last_free ? byte : state->last_free;
    coalesce(&state->pool.heap, id, take_out);
    pool_list_enter(&state->list, id);
}

static void release(struct heap *heap, uint32_t id)
{
    struct micropython *state = (struct micropython *)heap;
    uint64_t visited = heap->blocks[id].size / state->block;
    heap_mark(heap, id, STATE_WASTE);
    give_back(state, id);
    count_deallocation(heap, visited, heap->counters.coalescings);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct micropython *state = (struct micropython *)heap;
    uint64_t wanted = round_up(heap->request.size, state->block), held = heap->blocks[id].size;
    uint32_t above = heap->blocks[id].next;
    (void)size;
    if (wanted < held) {
        uint32_t rest = pool_split(&state->pool, id, wanted);
        heap_mark(heap, rest, STATE_WASTE);
        give_back(state, rest);
    }
    if (wanted <= held)
        return true;
    if (!heap_is_free(heap, above) || heap->blocks[above].size < wanted - held)
        return false;
    if (heap->blocks[above].size > wanted - held)
        pool_list_cut(&state->list, above, wanted - held);
    else
        pool_list_leave(&state->list, above);
    heap_mark(heap, id, STATE_WASTE);
    heap_join_next(heap, id);
    pool_hand_out(&state->pool, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    return resize(heap, id, size) ? id : layer_move(heap, id, size);
}

static bool reserve(struct heap *heap)
{
    return pool_list_reserve(&((struct micropython *)heap)->list, heap);
}

REFUSING_LAYER(allocate, release, resize, reserve, .reallocate = reallocate_block)

static void release_all(void *memory)
{
    block_list_release(&((struct micropython *)memory)->list.tree);
}

static bool init(void *memory)
{
    struct micropython *state = memory;
    struct pool *pool = &state->pool;
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK || !pool_list_init(&state->list, &pool->heap, state->block))
        return false;
    id = pool_take_table(pool, id, state->first);
    pool_close(pool, id, state->blocks * state->block);
    heap_mark(&pool->heap, id, STATE_WASTE);
    pool_list_enter(&state->list, id);
    return true;
}

static const char *check(const void *memory)
{
    const struct micropython *state = memory;
    const char *wrong = block_list_check(&state->list.tree, true, false);
    return wrong != NULL ? wrong : pool_check(&state->pool, state->list.tree.blocks);
}

static const char *const figure_names[] = {
    "total", "used", "free", "max_free", "num_1block", "num_2block", "max_block",
    "last_free_atb", "largest",
};

/* Computes the figures of gc_info() and the largest request that would succeed. */
static void report(const struct heap *heap, uint64_t *figures)
{
    const struct micropython *state = (const struct micropython *)heap;
    uint64_t total = state->blocks * state->block, used = heap->counters.allocated;
    uint64_t free = 0, ones = 0, twos = 0, most = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        uint64_t run = heap->blocks[id].size / state->block;
        if (heap_is_free(heap, id)) {
            free = run > free ? run : free;
        } else if (heap->blocks[id].index_slot == STATE_ALLOCATED) {
            ones += run == 1;
            twos += run == 2;
            most = run > most ? run : most;
        }
    }
    const uint64_t values[] = {total, used, total - used, free, ones, twos, most,
                               state->last_free, free * state->block};
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    UNIT_PARAMETER(struct micropython, block),
    SIZE_PARAMETER(struct micropython, first),
    UNIT_PARAMETER(struct micropython, blocks),
};

const struct family micropython = {
    .name = "micropython",
    .blocks_an_event = 2,
    .release = release_all,
    POOL_FAMILY_OF(struct micropython),
};
