#include "layers/pymalloc/pymalloc.h"

#include <stdlib.h>

#include "layers/define_layer.h"
#include "layers/pymalloc/arenas.h"
#include "space/table.h"

enum { LINK = 8 };

static const struct layer layer_pymalloc;

#define PYMALLOC_PARAMETER(field, least, most) \
    {"pymalloc_" #field, offsetof(struct pymalloc, field), least, most, NULL}

const struct parameter pymalloc_parameters[PYMALLOC_PARAMETERS] = {
    PYMALLOC_PARAMETER(pool_size, SMALL_POOL, 4 * SMALL_POOL),
    PYMALLOC_PARAMETER(keeps_last, 0, 1),
    PYMALLOC_PARAMETER(discard_pools, 0, 1),
    PYMALLOC_PARAMETER(arena_skew, 0, ARENA_ALIGNMENT - 1),
    PYMALLOC_PARAMETER(least, 0, LARGEST),
};

bool pymalloc_make(struct heap *heap)
{
    struct pymalloc *python = calloc(1, sizeof *python);
    if (python == NULL)
        return false;
    for (uint32_t count = 0; count <= POOLS; count++)
        python->newest[count] = python->oldest[count] = NO_ARENA;
    python->arena_unused = NO_ARENA;
    heap->pymalloc = python;
    return true;
}

void pymalloc_release(struct heap *heap)
{
    struct pymalloc *python = heap->pymalloc;
    if (python == NULL)
        return;
    table_release(python->arenas);
    table_release(python->owned);
    table_release(python->nodes);
    free(python);
}

/* Ensures an entry for each block id. Returns false, with the heap's failure set, if memory is
 * exhausted. */
static bool reserve_owned(struct heap *heap)
{
    struct pymalloc *python = heap->pymalloc;
    return heap_needs(heap, TABLE_COVER(python->owned, python->owned_capacity, heap->capacity - 1));
}

/* Returns the pool of a block, or NO_POOL. */
static uint32_t owner(const struct heap *heap, uint32_t id)
{
    const struct pymalloc *python = heap->pymalloc;
    return id < python->owned_capacity ? python->owned[id].pool : NO_POOL;
}

/* Inserts a pool as the first of the pools with free blocks of its size. */
static void enter(struct pymalloc *python, uint32_t number)
{
    struct pool *pool = pool_of(python, number);
    uint32_t *first = &python->used[pool->size / GRAIN];
    pool->next = *first;
    pool->previous = NO_POOL;
    if (*first != NO_POOL)
        pool_of(python, *first)->previous = number;
    *first = number;
}

static void leave(struct pymalloc *python, uint32_t number)
{
    const struct pool *pool = pool_of(python, number);
    if (pool->next != NO_POOL)
        pool_of(python, pool->next)->previous = pool->previous;
    if (pool->previous == NO_POOL)
        python->used[pool->size / GRAIN] = pool->next;
    else
        pool_of(python, pool->previous)->next = pool->next;
}

static bool is_full(const struct pool *pool)
{
    return pool->freed == NO_BLOCK && pool->fresh == NO_BLOCK;
}

/* Cuts an unused pool into a header, blocks of `size` bytes, and waste. Returns false, with the
 * heap's failure set, if memory is exhausted. */
static bool cut(struct heap *heap, uint32_t number, uint32_t size)
{
    struct pymalloc *python = heap->pymalloc;
    struct pool *pool = pool_of(python, number);
    const uint64_t header = heap->setting.mechanism ? POOL_HEADER : 0;
    uint64_t count = (pool_size(heap) - header) / size;
    if (!heap_reserve_more(heap, count + 2) || !reserve_owned(heap))
        return false;
    pymalloc_join(heap, pool->lowest, pool_size(heap));
    uint32_t id = pool->lowest;
    if (header > heap->setting.payload) {
        id = heap_cut_off(heap, id, header - heap->setting.payload);
        heap_mark(heap, pool->lowest, STATE_TABLE);
        heap_touch(heap, heap->blocks[pool->lowest].address, header);
    }
    pool->size = size;
    pool->fresh = id;
    pool->freed = NO_BLOCK;
    for (uint64_t i = 0; i < count; i++) {
        pool->last = id;
        python->owned[id].pool = number;
        if (heap->blocks[id].size > size)
            id = heap_cut_off(heap, id, size);
    }
    if (id != pool->last)
        heap_mark(heap, id, STATE_WASTE);
    return true;
}

/* Allocates a block of `size` bytes from a pool. Returns NO_BLOCK if the memory for an arena is
 * refused or, with the heap's failure set, if memory or addresses are exhausted. */
static uint32_t take(struct heap *heap, uint32_t size)
{
    struct pymalloc *python = heap->pymalloc;
    uint32_t number = python->used[size / GRAIN];
    if (number == NO_POOL) {
        number = pymalloc_take_pool(heap);
        if (number == NO_POOL ||
            (pool_of(python, number)->size != size && !cut(heap, number, size)))
            return NO_BLOCK;
        enter(python, number);
    }
    count_search(heap, 0);
    struct pool *pool = pool_of(python, number);
    uint32_t id = pool->freed;
    if (id != NO_BLOCK) {
        pool->freed = python->owned[id].older;
    } else {
        id = pool->fresh;
        pool->fresh = id == pool->last ? NO_BLOCK : heap->blocks[id].next;
        if (pool->fresh != NO_BLOCK && heap->setting.mechanism)
            heap_touch(heap, heap->blocks[pool->fresh].address + heap->setting.payload, LINK);
    }
    pool->used++;
    if (is_full(pool))
        leave(python, number);
    heap_mark(heap, id, STATE_ALLOCATED);
    if (heap->request.is_zeroed)
        heap_touch(heap, heap->blocks[id].address + heap->setting.payload, heap->request.size);
    return id;
}

static void give(struct heap *heap, uint32_t number, uint32_t id)
{
    struct pymalloc *python = heap->pymalloc;
    struct pool *pool = pool_of(python, number);
    if (is_full(pool))
        enter(python, number);
    heap_mark(heap, id, STATE_CACHED);
    python->owned[id].older = pool->freed;
    pool->freed = id;
    if (--pool->used > 0)
        return;
    leave(python, number);
    pymalloc_give_pool(heap, number);
}

static bool is_small(const struct heap *heap)
{
    const struct request *request = &heap->request;
    return request->size >= heap->pymalloc->least && request->size <= LARGEST &&
           request->alignment == 0;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint32_t taken = NO_BLOCK;
    if (is_small(heap))
        taken = take(heap, (uint32_t)round_up(heap->request.size, GRAIN));
    if (taken != NO_BLOCK || heap->failure != NULL)
        return taken;
    heap->has_refused = false; /* after a refused arena, the family may still serve the request */
    heap->front = heap->pymalloc->base;
    uint32_t id = heap->front->allocate(heap, size);
    heap->front = &layer_pymalloc;
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    uint32_t pool = owner(heap, id);
    if (pool != NO_POOL) {
        give(heap, pool, id);
        return;
    }
    heap->front = heap->pymalloc->base;
    heap->front->release(heap, id);
    heap->front = &layer_pymalloc;
}

/* Returns whether a block of a pool still fits the request: it is large enough, and the request
 * needs more than three quarters of it. */
static bool is_fit(const struct heap *heap, uint32_t pool)
{
    uint64_t has = pool_of(heap->pymalloc, pool)->size;
    uint64_t asked = heap->request.size;
    return asked <= has && 4 * asked > 3 * has;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t pool = owner(heap, id);
    return pool != NO_POOL ? is_fit(heap, pool) : heap->pymalloc->base->resize(heap, id, size);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t pool = owner(heap, id);
    if (pool == NO_POOL) {
        heap->front = heap->pymalloc->base;
        uint32_t other = layer_reallocate(heap, heap->front, id, size);
        heap->front = &layer_pymalloc;
        return other;
    }
    if (is_fit(heap, pool))
        return id;
    uint64_t has = pool_of(heap->pymalloc, pool)->size;
    uint32_t other = allocate(heap, size);
    if (other == NO_BLOCK)
        return NO_BLOCK;
    uint64_t copied = heap->request.size < has ? heap->request.size : has;
    heap_touch(heap, heap->blocks[other].address + heap->setting.payload, copied);
    give(heap, pool, id);
    return other;
}

static bool reserve(struct heap *heap)
{
    return heap->pymalloc->base->reserve(heap) && reserve_owned(heap);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct layer *base = heap->pymalloc->base;
    return base->rounded == NULL ? size : base->rounded(heap, size);
}

DEFINE_LAYER(pymalloc, true, allocate, release, reserve, .resize = resize,
             .reallocate = reallocate_block, .rounded = rounded)

const struct layer *pymalloc_over(struct heap *heap, const struct layer *base)
{
    heap->pymalloc->base = base;
    return &layer_pymalloc;
}

bool pymalloc_has(const struct heap *heap, uint32_t id)
{
    return heap->pymalloc != NULL && owner(heap, id) != NO_POOL;
}

void pymalloc_locate(const struct heap *heap, uint32_t id, struct location *location)
{
    *location = (struct location){0, 0, 0};
    if (!pymalloc_has(heap, id))
        return;
    const struct arena *arena = arena_of(heap->pymalloc, owner(heap, id));
    location->region = -1;
    location->number = (int64_t)arena->number;
    location->offset =
        (int64_t)(heap->blocks[id].address + heap->setting.payload - arena->base);
}

/* Returns the number of free blocks in a pool: freed blocks and blocks that were never used. */
static uint64_t free_in_pool(const struct heap *heap, const struct pool *pool)
{
    uint64_t count = 0;
    for (uint32_t id = pool->freed; id != NO_BLOCK; id = heap->pymalloc->owned[id].older)
        count++;
    for (uint32_t id = pool->fresh; id != NO_BLOCK; id = heap->blocks[id].next) {
        count++;
        if (id == pool->last)
            break;
    }
    return count;
}

const char *pymalloc_check(const struct heap *heap)
{
    const struct pymalloc *python = heap->pymalloc;
    const uint64_t header = heap->setting.mechanism ? POOL_HEADER : 0;
    for (uint32_t number = 0; number < python->arena_count; number++) {
        const struct arena *arena = &python->arenas[number];
        uint32_t in_use = 0;
        for (uint32_t i = 0; i < arena->carved && arena->is_live; i++) {
            const struct pool *pool = &arena->pools[i];
            in_use += pool->used > 0;
            if (pool->used > 0 && pool->used + free_in_pool(heap, pool) !=
                                      (pool_size(heap) - header) / pool->size)
                return "the blocks of a pool are miscounted";
        }
        if (arena->is_live && arena->free_count != arena->total - in_use)
            return "the free pools of an arena are miscounted";
    }
    return NULL;
}

uint64_t pymalloc_cached(const struct heap *heap)
{
    const struct pymalloc *python = heap->pymalloc;
    uint64_t cached = 0;
    if (python == NULL)
        return 0;
    for (uint32_t number = 0; number < python->arena_count; number++) {
        const struct arena *arena = &python->arenas[number];
        uint64_t end = arena->base + arena_size(heap);
        uint32_t id = arena->lowest;
        for (uint64_t at = arena->base; arena->is_live && at < end; id = heap->blocks[id].next) {
            cached += heap->blocks[id].index_slot == STATE_CACHED;
            at += heap->blocks[id].size;
        }
    }
    return cached;
}
