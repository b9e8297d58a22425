#include "user_policies/open_heap.h"

#include <stdlib.h>

#include "space/table.h"

bool open_heap_init(struct open_heap *open)
{
    open->unit = heap_unit(&open->heap);
    return open_heap_reserve(open);
}

void open_heap_release(struct open_heap *open)
{
    for (int i = 0; i < open->opened; i++) {
        free_index_close(open->indexes[i]);
        free(open->indexes[i]);
    }
    open->opened = 0;
    table_release(open->entered);
    open->entered = NULL;
}

bool open_heap_reserve(struct open_heap *open)
{
    struct heap *heap = &open->heap;
    if (!heap_reserve(heap) || !TABLE_FOLLOW(open->entered, open->capacity, heap->capacity))
        return false;
    for (int i = 0; i < open->opened; i++)
        if (!free_index_reserve(open->indexes[i], heap->capacity))
            return false;
    return true;
}

uint64_t open_heap_min(const struct open_heap *open, uint64_t size)
{
    uint64_t granule = open->unit & -open->unit;
    return (size + granule - 1) & -granule;
}

uint32_t open_heap_extend(struct open_heap *open, uint64_t size)
{
    if (size > MAX_BREAK - open->heap.brk || !open_heap_reserve(open) ||
        !open_heap_refine(open, size))
        return NO_BLOCK;
    uint32_t id = heap_extend(&open->heap, size);
    open->heap.blocks[id].index_slot = STATE_FREE;
    open->heap.blocks[id].family_data = UNSEARCHABLE;
    open->heap.counters.growths++;
    heap_count_free(&open->heap, id);
    open->grown = true;
    return id;
}

bool open_heap_split(struct open_heap *open, uint32_t id, uint64_t size, bool high, uint32_t *cut)
{
    struct heap *heap = &open->heap;
    if (!open_heap_reserve(open) || !open_heap_refine(open, size))
        return false;
    *cut = high ? heap_cut_high(heap, id, heap->blocks[id].size - size)
                : heap_cut_low(heap, id, size);
    heap->blocks[*cut].index_slot = STATE_FREE;
    heap->blocks[*cut].family_data = UNSEARCHABLE;
    heap->counters.splits++;
    heap_count_free(heap, *cut);
    if (heap->blocks[id].family_data == LISTED)
        for (int i = 0; i < open->opened; i++)
            free_index_change(open->indexes[i], id, &heap->blocks[id], open->entered[id]);
    return true;
}

void open_heap_join(struct open_heap *open, uint32_t id, uint32_t neighbour)
{
    if (open->heap.blocks[id].next == neighbour)
        heap_join_next(&open->heap, id);
    else
        heap_join_previous(&open->heap, id);
    open->heap.counters.free_blocks--;
}

bool open_heap_insert(struct open_heap *open, uint32_t id)
{
    if (!open_heap_reserve(open))
        return false;
    open->heap.blocks[id].family_data = LISTED;
    open->entered[id] = ++open->clock;
    open->listed++;
    for (int i = 0; i < open->opened; i++)
        free_index_insert(open->indexes[i], id, &open->heap.blocks[id], open->clock);
    return true;
}

void open_heap_remove(struct open_heap *open, uint32_t id)
{
    open->heap.blocks[id].family_data = UNSEARCHABLE;
    open->listed--;
    for (int i = 0; i < open->opened; i++)
        free_index_remove(open->indexes[i], id);
}

void open_heap_hold(struct open_heap *open, uint32_t id)
{
    struct block *block = &open->heap.blocks[id];
    block->family_data = HELD;
    block->index_slot = STATE_ALLOCATED;
    open->heap.counters.allocated += block->size;
    open->heap.counters.free_blocks--;
}

void open_heap_let_go(struct open_heap *open, uint32_t id)
{
    struct block *block = &open->heap.blocks[id];
    block->family_data = UNSEARCHABLE;
    block->index_slot = STATE_FREE;
    open->heap.counters.allocated -= block->size;
    heap_count_free(&open->heap, id);
}

/* Counts free blocks and listed blocks. Compares the copies in the indexes with the blocks. */
static const char *check_blocks(const struct open_heap *open)
{
    const struct heap *heap = &open->heap;
    uint64_t free_blocks = 0;
    uint64_t listed = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        if (block->family_data > LISTED || is_free(block) != (block->family_data != HELD))
            return "a block is neither held nor free";
        free_blocks += block->family_data != HELD;
        listed += block->family_data == LISTED;
        for (int i = 0; i < open->opened && block->family_data == LISTED; i++) {
            const struct block *copy = &open->indexes[i]->shadow.blocks[id];
            if (copy->address != block->address || copy->size != block->size)
                return "an index has a wrong address or size for a listed block";
        }
    }
    if (free_blocks != heap->counters.free_blocks)
        return "the free blocks are miscounted";
    return listed == open->listed ? NULL : "the listed blocks are miscounted";
}

const char *open_heap_check(const struct open_heap *open)
{
    const char *wrong = heap_check(&open->heap);
    if (wrong == NULL)
        wrong = check_blocks(open);
    for (int i = 0; wrong == NULL && i < open->opened; i++)
        wrong = free_index_check(open->indexes[i], open->listed);
    return wrong;
}

uint64_t open_heap_unsearchable(const struct open_heap *open, uint64_t *bytes)
{
    const struct heap *heap = &open->heap;
    uint64_t blocks = 0;
    *bytes = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        if (heap->blocks[id].family_data == UNSEARCHABLE) {
            *bytes += heap->blocks[id].size;
            blocks++;
        }
    }
    return blocks;
}
