/* picolibc's malloc: first fit in address order, below a break
 * (simalloc/policy/pool/picolibc.md). */
#include "families/pool/sbrk_list.h"

struct picolibc {
    struct sbrk_list base;
    uint64_t old; /* 1 for release 1.8.10, else 0 */
};

static uint64_t min_chunk(const struct picolibc *state)
{
    const struct setting *setting = &state->base.sbrk.pool.heap.setting;
    uint64_t words = 2 * setting->word;
    return state->old ? words : round_up(words, setting->alignment);
}

static uint64_t chunk_of(const struct picolibc *state, uint64_t size)
{
    const struct setting *setting = &state->base.sbrk.pool.heap.setting;
    uint64_t chunk = state->old ? round_up(size, setting->alignment) + setting->alignment
                                : round_up(size + setting->word, setting->alignment);
    return chunk < min_chunk(state) ? min_chunk(state) : chunk;
}

/* Returns the bytes to add at the break so that the last chunk of the list has `wanted` bytes. */
static uint64_t growth(const struct picolibc *state, uint32_t top, uint64_t wanted)
{
    uint64_t more = wanted - state->base.sbrk.pool.heap.blocks[top].size;
    return more < min_chunk(state) ? min_chunk(state) : more;
}

/* Cuts `wanted` bytes off a chunk of the list, or removes a whole chunk. Returns NO_BLOCK if no
 * chunk is large enough. */
static uint32_t take(struct picolibc *state, uint64_t wanted)
{
    struct sbrk_list *base = &state->base;
    struct heap *heap = &base->sbrk.pool.heap;
    uint64_t visited;
    uint32_t id = pool_list_first(&base->list, wanted, &visited);
    count_search(heap, visited);
    if (id != NO_BLOCK && heap->blocks[id].size - wanted >= min_chunk(state))
        return pool_list_cut(&base->list, id, wanted);
    uint32_t top = sbrk_list_top(base);
    if (id == NO_BLOCK && state->old && top != NO_BLOCK) {
        id = sbrk_list_extend(base, top, growth(state, top, wanted));
        if (id != NO_BLOCK && heap->blocks[id].size - wanted >= min_chunk(state))
            sbrk_list_cut(base, id, wanted);
    } else if (id != NO_BLOCK) {
        pool_list_leave(&base->list, id);
    }
    return id;
}

/* Returns a waste block of `wanted` bytes, or NO_BLOCK. */
static uint32_t find(struct picolibc *state, uint64_t wanted)
{
    const struct setting *setting = &state->base.sbrk.pool.heap.setting;
    uint32_t id = take(state, wanted);
    return id != NO_BLOCK
               ? id
               : sbrk_raise_aligned(&state->base.sbrk, wanted, setting->word, setting->alignment);
}

static uint32_t serve(struct picolibc *state, uint64_t size)
{
    uint32_t id = find(state, chunk_of(state, size));
    if (id != NO_BLOCK)
        pool_hand_out(&state->base.sbrk.pool, id);
    return id;
}

static uint32_t serve_aligned(struct picolibc *state, uint64_t alignment, uint64_t size)
{
    struct sbrk_list *base = &state->base;
    struct pool *pool = &base->sbrk.pool;
    struct heap *heap = &pool->heap;
    uint64_t lowest = state->old ? min_chunk(state) : 4;
    alignment = alignment < lowest ? lowest : alignment;
    uint64_t kept = chunk_of(state, size);
    if (state->old)
        size = round_up(size == 0 ? 1 : size, heap->setting.alignment);
    uint64_t searched = (state->old ? size : kept) + alignment + min_chunk(state);
    uint32_t id = find(state, chunk_of(state, searched));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t start = pool->skew + heap->blocks[id].address + heap->setting.word;
    uint64_t before = round_up(start, alignment) - start;
    if (before > 0) {
        before += before < min_chunk(state) ? alignment : 0;
        id = sbrk_list_cut_front(base, id, before);
    }
    if (heap->blocks[id].size >= kept + min_chunk(state))
        sbrk_list_cut(base, id, kept);
    pool_hand_out(pool, id);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct picolibc *state = (struct picolibc *)heap;
    uint64_t alignment = heap->request.alignment;
    (void)size;
    if (heap->request.size > word_max(heap))
        return NO_BLOCK;
    return alignment == 0 ? serve(state, heap->request.size)
                          : serve_aligned(state, alignment, heap->request.size);
}

/* Extends a block in place if it ends at the break. */
static void extend(struct picolibc *state, uint32_t id, uint64_t wanted)
{
    struct sbrk_list *base = &state->base;
    struct heap *heap = &base->sbrk.pool.heap;
    uint64_t held = heap->blocks[id].size;
    if (heap->blocks[id].address + held != sbrk_break(&base->sbrk) || wanted <= held)
        return;
    if (sbrk_raise(&base->sbrk, growth(state, id, wanted)) == NO_BLOCK)
        return;
    heap_mark(heap, id, STATE_WASTE);
    heap_join_next(heap, id);
    pool_hand_out(&base->sbrk.pool, id);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct picolibc *state = (struct picolibc *)heap;
    uint64_t requested = heap->request.size;
    if (requested == 0)
        return pool_free_instead(heap, id, sbrk_list_free);
    if (requested > word_max(heap))
        return NO_BLOCK;
    uint64_t wanted = chunk_of(state, requested);
    extend(state, id, wanted);
    uint64_t held = heap->blocks[id].size;
    if (wanted <= held) {
        if (held - wanted >= min_chunk(state)) {
            uint32_t rest = pool_split(&state->base.sbrk.pool, id, wanted);
            heap_mark(heap, rest, STATE_WASTE);
            sbrk_list_give_back(&state->base, rest);
        }
        return id;
    }
    return layer_move(heap, id, size);
}

REFUSING_LAYER(allocate, sbrk_list_free, pool_has_no_realloc, sbrk_list_reserve,
               .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct picolibc *state = memory;
    struct heap *heap = &state->base.sbrk.pool.heap;
    heap->setting.payload = heap->setting.word;
    return sbrk_list_init(&state->base, heap->setting.word);
}

static const char *const figure_names[] = {"heap", "free_bytes", "free_chunks", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct picolibc *state = (const struct picolibc *)heap;
    const struct sbrk_list *base = &state->base;
    uint64_t word = heap->setting.word, alignment = heap->setting.alignment;
    bool grows = state->old && sbrk_room(&base->sbrk) >= min_chunk(state);
    uint32_t top = grows ? sbrk_list_top(base) : NO_BLOCK;
    uint64_t chunk = round_down(sbrk_list_max(base, top, word, alignment), alignment);
    figures[0] = sbrk_break(&base->sbrk);
    figures[1] = sbrk_list_bytes(base);
    figures[2] = base->list.tree.blocks;
    figures[3] = chunk >= min_chunk(state) ? chunk - (state->old ? alignment : word) : 0;
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct picolibc, old, 0, 1),
};

const struct family picolibc = {
    .name = "picolibc",
    .blocks_an_event = 5,
    .columns = COLUMN_ALIGNMENT,
    SBRK_LIST_FAMILY_OF(struct picolibc),
};
