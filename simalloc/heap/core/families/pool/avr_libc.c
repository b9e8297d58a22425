/* avr-libc's malloc: best fit in one list, below a break that also falls
 * (simalloc/policy/pool/avr_libc.md). */
#include "families/pool/larger.h"
#include "families/pool/sbrk_list.h"

static uint64_t header(const struct heap *heap)
{
    return heap->setting.payload;
}

/* Returns the size of the block for the request, or UINT64_MAX if the request is impossible. */
static uint64_t wanted(const struct heap *heap)
{
    uint64_t size = heap->request.size;
    uint64_t most = header(heap) == 2 ? UINT16_MAX : UINT32_MAX;
    if (size > most)
        return UINT64_MAX;
    return header(heap) + (size < header(heap) ? header(heap) : size);
}

/* Removes the smallest large enough chunk from the list, the lowest among equals. If enough bytes
 * remain for a chunk, returns only its high end. */
static uint32_t take(struct sbrk_list *state, uint64_t needed)
{
    struct heap *heap = &state->sbrk.pool.heap;
    struct block *blocks = heap->blocks;
    uint32_t best = NO_BLOCK;
    uint64_t visited = 0;
    POOL_LIST_EACH(&state->list, id)
    {
        visited++;
        if (blocks[id].size >= needed && (best == NO_BLOCK || blocks[id].size < blocks[best].size))
            best = id;
        if (best != NO_BLOCK && blocks[best].size == needed)
            break;
    }
    count_search(heap, visited);
    if (best == NO_BLOCK)
        return NO_BLOCK;
    pool_list_leave(&state->list, best);
    uint64_t rest = blocks[best].size - needed;
    if (rest < 2 * header(heap))
        return best;
    uint32_t high = pool_split(&state->sbrk.pool, best, rest);
    pool_list_enter(&state->list, best);
    return high;
}

static uint32_t serve(struct sbrk_list *state, uint64_t needed)
{
    if (needed == UINT64_MAX)
        return NO_BLOCK;
    uint32_t id = take(state, needed);
    if (id == NO_BLOCK)
        id = sbrk_raise(&state->sbrk, needed);
    if (id != NO_BLOCK)
        pool_hand_out(&state->sbrk.pool, id);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    (void)size;
    if (heap->request.is_zeroed && heap->request.size > INT16_MAX && header(heap) == 2)
        return NO_BLOCK;
    return serve((struct sbrk_list *)heap, wanted(heap));
}

/* Frees a waste block. If it ends at the break, the break falls to its start. Otherwise it enters
 * the list. */
static uint64_t give_back(struct sbrk_list *state, uint32_t id)
{
    struct heap *heap = &state->sbrk.pool.heap;
    if (heap->blocks[id].address + heap->blocks[id].size != sbrk_break(&state->sbrk))
        return sbrk_list_give_back(state, id);
    uint64_t visited = state->list.tree.blocks;
    sbrk_lower(&state->sbrk, id);
    uint32_t below = sbrk_list_top(state);
    if (below != NO_BLOCK) {
        pool_list_leave(&state->list, below);
        sbrk_lower(&state->sbrk, below);
    }
    return visited;
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    heap_mark(heap, id, STATE_WASTE);
    uint64_t visited = give_back((struct sbrk_list *)heap, id);
    count_deallocation(heap, visited, coalescings);
}

/* Extends an allocated block into the chunk above it. Returns false if that chunk is not in the
 * list or not large enough. */
static bool join(struct sbrk_list *state, uint32_t id, uint64_t needed)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint32_t above = heap->blocks[id].next;
    uint64_t more = needed - heap->blocks[id].size;
    if (above == state->sbrk.room || !heap_is_free(heap, above) || heap->blocks[above].size < more)
        return false;
    uint64_t rest = heap->blocks[above].size - more;
    if (rest > 2 * header(heap))
        pool_list_cut(&state->list, above, more);
    else
        pool_list_leave(&state->list, above);
    heap_mark(heap, id, STATE_WASTE);
    heap_join_next(heap, id);
    pool_hand_out(&state->sbrk.pool, id);
    return true;
}

/* Extends the block that ends at the break. It must need more bytes than any chunk of the list has.
 * The last byte of the pool cannot be used in this way. */
static bool grow_last(struct sbrk_list *state, uint32_t id, uint64_t more)
{
    struct heap *heap = &state->sbrk.pool.heap;
    uint64_t room = sbrk_room(&state->sbrk);
    if (more >= room) {
        differs_from(heap, more - room + 1);
        return false;
    }
    sbrk_raise(&state->sbrk, more);
    heap_mark(heap, id, STATE_WASTE);
    heap_join_next(heap, id);
    pool_hand_out(&state->sbrk.pool, id);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct sbrk_list *state = (struct sbrk_list *)heap;
    uint64_t needed = wanted(heap), held = heap->blocks[id].size;
    (void)size;
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    if (needed <= held) {
        if (held > 3 * header(heap) && needed + 2 * header(heap) <= held) {
            uint32_t rest = pool_split(&state->sbrk.pool, id, needed);
            heap_mark(heap, rest, STATE_WASTE);
            give_back(state, rest);
        }
        return id;
    }
    if (needed == UINT64_MAX)
        return NO_BLOCK;
    if (join(state, id, needed))
        return id;
    if (heap->blocks[id].address + held == sbrk_break(&state->sbrk) && needed > sbrk_list_largest(state))
        return grow_last(state, id, needed - held) ? id : NO_BLOCK;
    return pool_moved(heap, id, serve(state, needed), release);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, sbrk_list_reserve,
               .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct sbrk_list *state = memory;
    state->sbrk.pool.heap.setting.payload = state->sbrk.pool.heap.setting.alignment;
    return sbrk_list_init(state, 1);
}

static const char *const figure_names[] = {"brkval", "freelist_chunks", "freelist_bytes",
                                           "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct sbrk_list *state = (const struct sbrk_list *)heap;
    uint64_t largest = sbrk_list_largest(state), room = sbrk_room(&state->sbrk);
    largest = room > largest ? room : largest;
    figures[0] = sbrk_break(&state->sbrk);
    figures[1] = state->list.tree.blocks;
    figures[2] = sbrk_list_bytes(state);
    figures[3] = largest >= 2 * header(heap) ? largest - header(heap) : 0;
}

static const struct parameter parameters[] = {POOL_PARAMETERS};

const struct family avr_libc = {
    .name = "avr libc",
    .blocks_an_event = 3,
    SBRK_LIST_FAMILY_OF(struct sbrk_list),
};
