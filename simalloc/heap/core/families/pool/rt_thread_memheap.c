/* RT-Thread's memheap (simalloc/policy/pool/rt_thread_memheap.md).
 *
 * As long as every decision is the same, a pool that is d bytes larger has a last block that is d
 * bytes larger. `available` is larger by d while that block is free. Five functions make decisions
 * that depend on the size of the last block. Each records the smallest d with another result for
 * these cases:
 *
 *   serve()             too few bytes are available, while the last block is free;
 *                       the last block is allocated whole instead of cut
 *   first_of()          a free block is too small
 *   grow()              the free block above an object is too small
 *   shrink()            the unused part of an object is too small for a block
 *   reallocate_block()  an object in the last block must grow
 *
 * If `best` is set, the place of a freed last block in the list depends on its size too. */
#include "families/pool/larger.h"
#include "index/block_ring.h"

struct rt_thread_memheap {
    struct pool pool;
    /* 1 if a freed block is inserted by its size, 0 if it is inserted at the head. */
    uint64_t best;
    uint64_t min_payload; /* minimum payload of a block in bytes */
    uint32_t head;        /* head of the ring of free blocks, or NO_BLOCK */
    uint64_t available;   /* bytes of free blocks, headers excluded */
    uint64_t peak;        /* maximum bytes in use so far, headers included */
};

static uint64_t holds(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].size - heap->setting.payload;
}

/* Returns the payload of the block for a request. */
static uint64_t rounded(const struct rt_thread_memheap *state, uint64_t size)
{
    const struct heap *heap = &state->pool.heap;
    uint64_t held = round_up(size, heap->setting.alignment) & word_max(heap);
    return held < state->min_payload ? state->min_payload : held;
}

static uint64_t used_bytes(const struct rt_thread_memheap *state)
{
    uint64_t size = round_down(state->pool.capacity, state->pool.heap.setting.alignment);
    return size - state->available;
}

static void note_use(struct rt_thread_memheap *state)
{
    uint64_t used = used_bytes(state);
    state->peak = used > state->peak ? used : state->peak;
}

/* Inserts a waste block at the head. */
static void enter(struct rt_thread_memheap *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    block_ring_insert(&state->head, heap->blocks, id, true);
    heap_count_free(heap, id);
}

static void take_out(struct heap *heap, uint32_t id)
{
    struct rt_thread_memheap *state = (struct rt_thread_memheap *)heap;
    block_ring_remove(&state->head, heap->blocks, id);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.free_blocks--;
}

/* Returns the first block from the head on with a payload of at least `held` bytes, or NO_BLOCK. */
static uint32_t first_of(struct rt_thread_memheap *state, uint64_t held, uint64_t *visited)
{
    struct heap *heap = &state->pool.heap;
    uint32_t id = state->head;
    for (*visited = 0; id != NO_BLOCK; id = heap->blocks[id].family_data) {
        ++*visited;
        if (holds(heap, id) >= held)
            return id;
        note_unsplit(heap, id, held - holds(heap, id));
        if (heap->blocks[id].family_data == state->head)
            break;
    }
    return NO_BLOCK;
}

/* Inserts a block that was freed and merged. Returns the number of visited blocks. */
static uint64_t enter_freed(struct rt_thread_memheap *state, uint32_t id)
{
    struct heap *heap = &state->pool.heap;
    uint64_t visited = 0;
    uint32_t behind = state->best ? first_of(state, holds(heap, id), &visited) : state->head;
    if (behind == NO_BLOCK || behind == state->head)
        block_ring_insert(&state->head, heap->blocks, id, behind != NO_BLOCK);
    else
        block_ring_link(heap->blocks, heap->blocks[behind].index_slot, behind, id);
    heap_count_free(heap, id);
    return visited;
}

static uint32_t serve(struct rt_thread_memheap *state, uint64_t held)
{
    struct heap *heap = &state->pool.heap;
    uint64_t header = heap->setting.payload, visited;
    if (held >= state->available) {
        /* If the last block is not free, a larger pool has the same number of available bytes. */
        if (heap_is_free(heap, pool_last(heap)))
            differs_from(heap, held - state->available + 1);
        return NO_BLOCK;
    }
    uint32_t id = first_of(state, held, &visited);
    count_search(heap, visited);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    bool splits = holds(heap, id) >= held + header + state->min_payload;
    state->available -= splits ? held + header : holds(heap, id);
    if (!splits)
        note_unsplit(heap, id, held + header + state->min_payload - holds(heap, id));
    if (splits && id == state->head) {
        id = heap_cut_low(heap, id, header + held); /* the remainder stays at the head */
        heap->blocks[id].index_slot = STATE_WASTE;
        heap->counters.splits++;
    } else {
        take_out(heap, id);
        if (splits)
            enter(state, pool_split(&state->pool, id, header + held));
    }
    pool_hand_out(&state->pool, id);
    note_use(state);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct rt_thread_memheap *state = (struct rt_thread_memheap *)heap;
    uint64_t alignment = round_up(heap->request.alignment, heap->setting.word);
    uint64_t requested = heap->request.size;
    (void)size;
    if (alignment > 0)
        requested = round_up(requested, heap->setting.word) + alignment;
    if (requested > word_max(heap))
        return NO_BLOCK;
    uint32_t id = serve(state, rounded(state, requested));
    if (id == NO_BLOCK || alignment == 0)
        return id;
    struct block *block = &heap->blocks[id];
    uint64_t start = state->pool.skew + block->address + heap->setting.payload;
    block->family_data = (uint32_t)(round_down(start, alignment) + alignment - start);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    struct rt_thread_memheap *state = (struct rt_thread_memheap *)heap;
    uint64_t coalescings = heap->counters.coalescings, visited = 0;
    uint32_t below = heap->blocks[id].previous, above = heap->blocks[id].next;
    bool joins_below = heap_is_free(heap, below);
    state->available += holds(heap, id);
    heap_mark(heap, id, STATE_WASTE);
    if (heap_is_free(heap, above)) {
        take_out(heap, above);
        heap_join_next(heap, id);
        state->available += heap->setting.payload;
        heap->counters.coalescings++;
    }
    if (state->best && id == pool_last(heap))
        differs_from(heap, 1); /* the place of the block depends on its size */
    if (joins_below) { /* the block below keeps its place */
        heap_join_next(heap, below);
        state->available += heap->setting.payload;
        heap->counters.coalescings++;
    } else {
        visited = enter_freed(state, id);
    }
    count_deallocation(heap, visited, coalescings);
}

/* Extends an allocated block by the missing bytes of the free block above it. Returns false if the
 * remainder would be too small. */
static bool grow(struct rt_thread_memheap *state, uint32_t id, uint64_t held)
{
    struct heap *heap = &state->pool.heap;
    uint64_t old = holds(heap, id), more = held - old;
    uint32_t above = heap->blocks[id].next;
    uint64_t room = heap_is_free(heap, above) ? holds(heap, above) + old : 0;
    if (room <= held + state->min_payload) {
        if (room > 0)
            note_unsplit(heap, above, held + state->min_payload - room + 1);
        return false;
    }
    take_out(heap, above);
    enter(state, pool_split(&state->pool, above, more));
    heap_mark(heap, id, STATE_WASTE);
    heap_join_next(heap, id);
    pool_hand_out(&state->pool, id);
    state->available -= more;
    note_use(state);
    return true;
}

/* Frees the payload of an allocated block beyond `held` bytes, if it is large enough for a
 * block. */
static void shrink(struct rt_thread_memheap *state, uint32_t id, uint64_t held)
{
    struct heap *heap = &state->pool.heap;
    uint64_t header = heap->setting.payload;
    if (held + header + state->min_payload >= holds(heap, id)) {
        note_unsplit(heap, id, held + header + state->min_payload - holds(heap, id) + 1);
        return;
    }
    uint32_t rest = pool_split(&state->pool, id, header + held);
    heap_mark(heap, rest, STATE_WASTE);
    state->available += holds(heap, rest);
    uint32_t above = heap->blocks[rest].next;
    if (heap_is_free(heap, above)) {
        take_out(heap, above);
        heap_join_next(heap, rest);
        state->available += header;
        heap->counters.coalescings++;
    }
    enter(state, rest);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct rt_thread_memheap *state = (struct rt_thread_memheap *)heap;
    /* An aligned object can only be freed, so it moves. */
    bool is_aligned = heap->blocks[id].family_data != 0;
    (void)size;
    if (heap->request.size == 0)
        return pool_free_instead(heap, id, release);
    if (heap->request.size > word_max(heap) - 4095) /* such a request would corrupt the real heap */
        return NO_BLOCK;
    uint64_t held = rounded(state, heap->request.size);
    if (!is_aligned && held <= holds(heap, id)) {
        shrink(state, id, held);
        return id;
    }
    if (!is_aligned)
        note_unsplit(heap, id, held - holds(heap, id));
    if (!is_aligned && grow(state, id, held))
        return id;
    return pool_moved(heap, id, serve(state, held), release);
}

REFUSING_LAYER(allocate, release, pool_has_no_realloc, heap_reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct rt_thread_memheap *state = memory;
    struct pool *pool = &state->pool;
    uint64_t alignment = pool->heap.setting.alignment;
    uint64_t header = round_up(6 * pool->heap.setting.word, alignment);
    pool->heap.setting.payload = header;
    uint32_t id = pool_add_region(pool, 0, pool->capacity);
    if (id == NO_BLOCK)
        return false;
    pool_close(pool, id, round_down(pool->capacity, alignment) - header);
    state->available = holds(&pool->heap, id);
    state->peak = used_bytes(state);
    enter(state, id);
    pool->heap.same_for = UINT64_MAX;
    return true;
}

static const char *check(const void *memory)
{
    const struct rt_thread_memheap *state = memory;
    const struct heap *heap = &state->pool.heap;
    uint64_t count = 0, bytes = 0;
    for (uint32_t id = state->head; id != NO_BLOCK && count <= heap->used;) {
        count++;
        bytes += holds(heap, id);
        id = heap->blocks[id].family_data == state->head ? NO_BLOCK : heap->blocks[id].family_data;
    }
    if (bytes != state->available)
        return "the available bytes are miscounted";
    return pool_check(&state->pool, count);
}

static const char *const figure_names[] = {"available_size", "max_used_size", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct rt_thread_memheap *state = (const struct rt_thread_memheap *)heap;
    uint64_t alignment = heap->setting.alignment, largest = 0;
    for (uint32_t id = state->head; id != NO_BLOCK;) {
        largest = holds(heap, id) > largest ? holds(heap, id) : largest;
        id = heap->blocks[id].family_data == state->head ? NO_BLOCK : heap->blocks[id].family_data;
    }
    if (largest >= state->available) /* the last available bytes are never allocated */
        largest = state->available > 0 ? state->available - 1 : 0;
    figures[0] = state->available;
    figures[1] = state->peak;
    figures[2] = largest < state->min_payload ? 0 : round_down(largest, alignment);
}

static const struct parameter parameters[] = {
    POOL_PARAMETERS,
    PARAMETER(struct rt_thread_memheap, best, 0, 1),
    SIZE_PARAMETER(struct rt_thread_memheap, min_payload),
};

const struct family rt_thread_memheap = {
    .name = "rt thread memheap",
    .blocks_an_event = 2,
    .columns = COLUMN_ALIGNMENT,
    POOL_FAMILY_OF(struct rt_thread_memheap),
};
