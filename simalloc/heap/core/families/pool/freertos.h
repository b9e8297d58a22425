/* Common part of FreeRTOS's heaps (simalloc/policy/pool/freertos.md). */
#ifndef SIMALLOC_FREERTOS_H
#define SIMALLOC_FREERTOS_H

#include "families/pool/pool.h"

/* Returns the size of a header: two words, rounded up to the alignment. */
ALWAYS_INLINE uint64_t freertos_header(const struct pool *pool)
{
    return round_up(2 * pool->heap.setting.word, pool->heap.setting.alignment);
}

/* Returns the address of the first block. */
ALWAYS_INLINE uint64_t freertos_start(const struct pool *pool, uint64_t address)
{
    uint64_t absolute = pool->skew + address;
    return round_up(absolute, pool->heap.setting.alignment) - pool->skew;
}

/* Returns the size of the block for the request, or 0 if the request is impossible. */
ALWAYS_INLINE uint64_t freertos_wanted(const struct pool *pool)
{
    const struct heap *heap = &pool->heap;
    uint64_t size = heap->request.size;
    uint64_t wanted = round_up(size + heap->setting.payload, heap->setting.alignment);
    return size == 0 || size > word_max(heap) || wanted > word_max(heap) / 2 ? 0 : wanted;
}

#endif
