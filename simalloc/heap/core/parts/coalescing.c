#include "parts/coalescing.h"

const char *check_coalesced(const struct heap *heap)
{
    uint64_t blocks = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        if (!is_free(&heap->blocks[id]))
            continue;
        if (heap_is_free(heap, heap->blocks[id].next))
            return "two adjacent free blocks have not coalesced";
        blocks++;
    }
    return blocks == heap->counters.free_blocks ? NULL : "the free blocks are miscounted";
}
