/* ThreadX's byte pool: first fit in address order. A search merges the free neighbours that it
 * passes (simalloc/policy/pool/threadx.md). */
#include "families/pool/larger.h"

enum { MIN_REST = 20 }; /* TX_BYTE_BLOCK_MIN */

struct threadx {
    struct pool pool;
    uint64_t checked;   /* 1 if requests are verified before the pool is searched, else 0 */
    uint32_t mark;      /* block below which no block is free */
    uint64_t available; /* bytes of free blocks, headers included */
    /* Number of blocks, free and allocated, with the block that ends the pool. */
    uint64_t fragments;
    uint64_t searched, merges, splits;
};

/* Returns the block after `id`; the first block follows the last. */
static uint32_t behind(const struct heap *heap, uint32_t id)
{
    uint32_t next = heap->blocks[id].next;
    return next == NO_BLOCK ? heap_first(heap) : next;
}

static void merge(struct threadx *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint32_t above = heap->blocks[id].next;
    if (state->mark == above)
        state->mark = id;
    heap_mark(heap, above, STATE_WASTE);
    heap_join_next(heap, id);
    heap->counters.coalescings++;
    state->fragments--;
    state->merges++;
}

/* Returns a block with a payload of `held` bytes, or NO_BLOCK. Searches all blocks from the mark
 * on. */
static uint32_t find(struct threadx *state, uint64_t held)
{
    struct heap *heap = &state->pool.heap;
    uint64_t header = heap->setting.payload, looks = state->fragments + 1;
    bool has_mark = false;
    uint32_t id = state->mark;
    uint64_t most = state->available + (state->fragments - 2) * header;
    if (held >= most) {
        differs_from(heap, held - most + 1);
        return NO_BLOCK;
    }
    while (looks > 0) {
        state->searched++;
        looks--;
        if (!heap_is_free(heap, id)) {
            id = behind(heap, id);
            continue;
        }
        if (!has_mark)
            state->mark = id;
        has_mark = true;
        if (heap->blocks[id].size - header >= held)
            return heap->blocks[id].size > header ? id : NO_BLOCK;
        note_unsplit(heap, id, held + header - heap->blocks[id].size);
        uint32_t above = heap->blocks[id].next; /* the block at the end of the pool is never free */
        if (heap_is_free(heap, above)) {
            merge(state, id);
        } else {
            id = behind(heap, above);
            state->searched++;
            looks -= looks > 0;
        }
    }
    return NO_BLOCK;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct threadx *state = (struct threadx *)heap;
    uint64_t asked = heap->request.size, word = heap->setting.word;
    uint64_t header = heap->setting.payload, before = state->searched;
    uint64_t held = round_up(asked, word) & word_max(heap);
    (void)size;
    uint64_t bytes = round_down(state->pool.capacity, word);
    if (state->checked && asked > bytes)
        differs_from(heap, asked - bytes);
    if (asked > word_max(heap) || (state->checked && (asked == 0 || asked > bytes)))
        return NO_BLOCK;
    uint32_t id = find(state, held);
    count_search(heap, state->searched - before);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap_mark(heap, id, STATE_WASTE);
    uint64_t rest = heap->blocks[id].size - header - held;
    if (rest < MIN_REST)
        note_unsplit(heap, id, MIN_REST - rest);
    if (rest >= MIN_REST) {
        heap_mark(heap, pool_split(&state->pool, id, header + held), STATE_FREE);
        state->fragments++;
        state->splits++;
    }
    if (id == state->mark)
        state->mark = behind(heap, id);
    pool_hand_out(&state->pool, id);
    state->available -= heap->blocks[id].size;
    return id;
}

/* Frees a block without merging it. */
static void release(struct heap *heap, uint32_t id)
{
    struct threadx *state = (struct threadx *)heap;
    state->available += heap->blocks[id].size;
    heap_mark(heap, id, STATE_FREE);
    if (heap->blocks[id].address < heap->blocks[state->mark].address)
        state->mark = id;
    count_deallocation(heap, 0, heap->counters.coalescings);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, heap_reserve)

static bool init(void *memory)
{
    struct threadx *state = memory;
    struct pool *pool = &state->pool;
    uint64_t word = pool->heap.setting.word;
    pool->heap.setting.payload = 2 * word;
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    state->available = round_down(pool->capacity, word) - 2 * word;
    pool_close(pool, id, state->available);
    heap_mark(&pool->heap, id, STATE_FREE);
    state->mark = id;
    state->fragments = 2;
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct threadx *state = memory;
    const struct heap *heap = &state->pool.heap;
    uint64_t blocks = 0, free = 0, bytes = 0;
    uint64_t mark = heap->blocks[state->mark].address;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        blocks++;
        if (!heap_is_free(heap, id))
            continue;
        free++;
        bytes += heap->blocks[id].size;
        if (heap->blocks[id].address < mark)
            return "a free block is located below the mark";
    }
    if (blocks != state->fragments || bytes != state->available)
        return "the blocks or their bytes are miscounted";
    return pool_check(&state->pool, free);
}

static const char *const figure_names[] = {"available_bytes", "fragments", "fragments_searched",
                                           "merges", "splits", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct threadx *state = (const struct threadx *)heap;
    uint64_t run = 0, longest = heap->setting.payload;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        run = heap_is_free(heap, id) ? run + heap->blocks[id].size : 0;
        longest = run > longest ? run : longest;
    }
    const uint64_t values[] = {
        state->available, state->fragments, state->searched,
        state->merges, state->splits, longest - heap->setting.payload,
    };
    memcpy(figures, values, sizeof values);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct threadx, checked, 0, 1),
};

const struct family threadx = {
    .name = "threadx",
    .blocks_an_event = 2,
    POOL_FAMILY_OF(struct threadx),
};
