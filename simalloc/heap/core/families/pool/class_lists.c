#include "families/pool/class_lists.h"

uint64_t class_lists_largest(const struct class_lists *lists)
{
    const struct block *blocks = lists->heap->blocks;
    unsigned class = class_last(lists);
    uint32_t front = class == NO_CLASS ? NO_BLOCK : lists->fronts[class], id = front;
    uint64_t largest = 0;
    while (id != NO_BLOCK) {
        largest = blocks[id].size > largest ? blocks[id].size : largest;
        id = blocks[id].family_data == front ? NO_BLOCK : blocks[id].family_data;
    }
    return largest;
}

uint64_t class_lists_count(const struct class_lists *lists,
                           uint64_t (*key_of)(const struct heap *heap, uint32_t id))
{
    const struct heap *heap = lists->heap;
    uint64_t count = 0;
    for (unsigned class = 0; class < (unsigned)CLASS_LEVELS << lists->division; class++) {
        uint32_t front = lists->fronts[class], id = front;
        unsigned level = class >> lists->division;
        bool has_bit = lists->in_level[level] >> (class & ((1U << lists->division) - 1)) & 1;
        if (has_bit != (front != NO_BLOCK))
            return UINT64_MAX;
        while (id != NO_BLOCK) {
            if (class_of(lists, key_of(heap, id)) != class || ++count > heap->used)
                return UINT64_MAX;
            id = heap->blocks[id].family_data;
            id = id == front ? NO_BLOCK : id;
        }
    }
    return count;
}
