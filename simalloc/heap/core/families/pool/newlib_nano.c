/* newlib's malloc of nano.specs: first fit in address order, below a break
 * (simalloc/policy/pool/newlib_nano.md). */
#include "families/pool/sbrk_list.h"

struct newlib_nano {
    struct sbrk_list base;
    uint64_t old; /* 1 for releases up to 4.1.0, else 0 */
};

enum { USER_ALIGNMENT = 8 };

static const uint64_t TOO_LARGE = UINT64_C(1) << 31; /* size of the smallest refused chunk */

static uint64_t min_chunk(const struct heap *heap)
{
    return heap->setting.word == 4 ? 12 : 16;
}

/* Returns the padding between the header of a chunk and the bytes of the program. */
static uint64_t padding(const struct newlib_nano *state, uint64_t address, uint64_t alignment)
{
    const struct pool *pool = &state->base.sbrk.pool;
    uint64_t start = pool->skew + address + pool->heap.setting.word;
    return round_up(start, alignment) - start;
}

/* Extends the last chunk of the list to `wanted` bytes, when the break cannot rise by that many
 * bytes. Returns the chunk, or NO_BLOCK. */
static uint32_t extend_last(struct newlib_nano *state, uint64_t wanted)
{
    struct sbrk_list *base = &state->base;
    const struct heap *heap = &base->sbrk.pool.heap;
    uint32_t id = sbrk_list_top(base);
    if (state->old || id == NO_BLOCK)
        return NO_BLOCK;
    return sbrk_list_extend(base, id, wanted - heap->blocks[id].size);
}

/* Cuts `wanted` bytes off a chunk of the list, or removes the whole chunk from the list. */
static uint32_t take(struct newlib_nano *state, uint32_t id, uint64_t wanted)
{
    struct pool *pool = &state->base.sbrk.pool;
    struct pool_list *list = &state->base.list;
    uint64_t rest = pool->heap.blocks[id].size - wanted;
    if (rest >= min_chunk(&pool->heap) && !state->old)
        return pool_list_cut(list, id, wanted);
    pool_list_leave(list, id);
    if (rest < min_chunk(&pool->heap))
        return id;
    uint32_t high = pool_split(pool, id, rest);
    pool_list_enter(list, id);
    return high;
}

/* Allocates a block for `size` bytes of the program, aligned to 8. Returns NO_BLOCK if this is
 * impossible. */
static uint32_t serve(struct newlib_nano *state, uint64_t size)
{
    struct sbrk_list *base = &state->base;
    struct heap *heap = &base->sbrk.pool.heap;
    uint64_t wanted = round_up(size, heap->setting.word) + 8, visited;
    wanted = wanted < min_chunk(heap) ? min_chunk(heap) : wanted;
    if (size >= TOO_LARGE || wanted >= TOO_LARGE)
        return NO_BLOCK;
    uint32_t id = pool_list_first(&base->list, wanted, &visited);
    count_search(heap, visited);
    if (id != NO_BLOCK)
        id = take(state, id, wanted);
    else
        id = sbrk_raise_aligned(&base->sbrk, wanted, 0, heap->setting.word);
    if (id == NO_BLOCK)
        id = extend_last(state, wanted);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    pool_hand_out(&base->sbrk.pool, id);
    heap->blocks[id].family_data =
        (uint32_t)padding(state, heap->blocks[id].address, USER_ALIGNMENT);
    return id;
}

static uint32_t serve_aligned(struct newlib_nano *state, uint64_t alignment, uint64_t size)
{
    struct sbrk_list *base = &state->base;
    struct heap *heap = &base->sbrk.pool.heap;
    uint64_t word = heap->setting.word;
    alignment = alignment < USER_ALIGNMENT ? USER_ALIGNMENT : alignment;
    size = round_up(size < word ? word : size, word);
    uint32_t id = serve(state, size + alignment - USER_ALIGNMENT);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t before = padding(state, heap->blocks[id].address, alignment);
    heap_mark(heap, id, STATE_WASTE);
    if (before >= min_chunk(heap)) {
        id = sbrk_list_cut_front(base, id, before);
        before = 0;
    }
    if (heap->blocks[id].size > word + before + size + min_chunk(heap))
        sbrk_list_cut(base, id, word + before + size);
    pool_hand_out(&base->sbrk.pool, id);
    heap->blocks[id].family_data = (uint32_t)before;
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct newlib_nano *state = (struct newlib_nano *)heap;
    uint64_t alignment = heap->request.alignment;
    (void)size;
    return alignment == 0 ? serve(state, heap->request.size)
                          : serve_aligned(state, alignment, heap->request.size);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct newlib_nano *state = (struct newlib_nano *)heap;
    uint64_t requested = heap->request.size;
    if (requested == 0)
        return pool_free_instead(heap, id, sbrk_list_free);
    uint64_t usable = heap->blocks[id].size - heap->setting.word - heap->blocks[id].family_data;
    if (requested <= usable && (state->old || usable / 2 < requested))
        return id;
    return layer_move(heap, id, size);
}

REFUSING_LAYER(allocate, sbrk_list_free, pool_has_no_realloc, sbrk_list_reserve,
               .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct newlib_nano *state = memory;
    struct heap *heap = &state->base.sbrk.pool.heap;
    heap->setting.payload = heap->setting.word;
    return sbrk_list_init(&state->base, heap->setting.word);
}

static const char *const figure_names[] = {"arena", "uordblks", "fordblks", "free_chunks",
                                           "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct newlib_nano *state = (const struct newlib_nano *)heap;
    const struct sbrk_list *base = &state->base;
    uint32_t top = state->old ? NO_BLOCK : sbrk_list_top(base);
    uint64_t chunk = sbrk_list_max(base, top, 0, heap->setting.word);
    figures[0] = sbrk_break(&base->sbrk);
    figures[2] = sbrk_list_bytes(base);
    figures[1] = figures[0] - figures[2];
    figures[3] = base->list.tree.blocks;
    figures[4] = chunk >= min_chunk(heap) ? round_down(chunk - 8, heap->setting.word) : 0;
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct newlib_nano, old, 0, 1),
};

const struct family newlib_nano = {
    .name = "newlib nano",
    .blocks_an_event = 5,
    .columns = COLUMN_ALIGNMENT,
    SBRK_LIST_FAMILY_OF(struct newlib_nano),
};
