#include "parts/size_list.h"

bool size_list_refill(struct heap *heap, struct size_list *list, uint64_t size, uint64_t bytes)
{
    uint32_t id = heap_extend(heap, bytes < size ? size : bytes);
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    uint64_t blocks = heap->blocks[id].size / size;
    if (UNLIKELY(blocks > UINT32_MAX - heap->counters.free_blocks)) {
        heap_fail(heap, "the heap would have more than 2**32 free blocks");
        return false;
    }
    if (heap->blocks[id].size > blocks * size)
        heap->blocks[heap_cut_high(heap, id, blocks * size)].index_slot = STATE_WASTE;
    heap->blocks[id].index_slot = STATE_FREE;
    heap->counters.free_blocks += blocks;
    list->uncut = id;
    return true;
}

const char *size_list_check(const struct heap *heap, const struct size_list *list, uint64_t size,
                            uint64_t *blocks)
{
    if (list->uncut != NO_BLOCK)
        *blocks += heap->blocks[list->uncut].size / size;
    for (uint32_t id = list->newest; id != NO_BLOCK; id = heap->blocks[id].family_data) {
        if (heap->blocks[id].index_slot != STATE_FREE || heap->blocks[id].size != size)
            return "a list holds a block that is not free or has another size";
        if (++*blocks > heap->counters.free_blocks)
            return "a list has a cycle, or the free blocks are miscounted";
    }
    return NULL;
}
