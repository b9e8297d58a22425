/* Memory that mimalloc 2 reserves at its start. Segments are taken from it first. */
#include "families/mimalloc2/mimalloc2.h"

enum { RESERVE_RECORD = 4096 }; /* bytes of the library's record of the used parts */

static uint64_t run_of(uint64_t index, uint64_t count)
{
    return (count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX) << index;
}

/* Maps the reserve. Returns false if the capacity does not allow the mapping, or with the heap's
 * failure set if the mapping fails. */
static bool map_reserve(struct mimalloc2 *state)
{
    struct heap *heap = &state->mi.heap;
    struct reserve *reserve = &state->reserve;
    uint64_t record_bytes = heap->setting.mechanism ? RESERVE_RECORD : 0;
    if (!heap_has_room(heap, state->reserve_os_memory + record_bytes))
        return false;
    if (heap->setting.mechanism) {
        uint32_t record = heap_map_segment(heap, RESERVE_RECORD, 1);
        if (record == NO_BLOCK)
            return false;
        heap_mark(heap, record, STATE_TABLE);
        heap_touch(heap, heap->blocks[record].address, RESERVE_RECORD);
        state->mi.committed += RESERVE_RECORD;
    }
    uint32_t id = heap_map_segment(heap, state->reserve_os_memory, SEGMENT);
    if (id == NO_BLOCK)
        return false;
    heap_mark(heap, id, STATE_FREE);
    heap->counters.growths++;
    reserve->start = heap->blocks[id].address;
    reserve->count = state->reserve_os_memory / SEGMENT;
    reserve->block_at[0] = id;
    state->mi.hint += state->reserve_os_memory;
    state->mi.committed += state->reserve_os_memory;
    return true;
}

uint32_t reserve_take(struct mimalloc2 *state, uint64_t size, bool *was_used)
{
    struct heap *heap = &state->mi.heap;
    struct reserve *reserve = &state->reserve;
    uint64_t count = (size + SEGMENT - 1) / SEGMENT;
    if (state->reserve_os_memory == 0 || (reserve->count == 0 && !map_reserve(state)))
        return NO_BLOCK;
    for (uint64_t index = 0; index + count <= reserve->count; index++) {
        uint64_t run = run_of(index, count);
        if (reserve->used & run)
            continue;
        uint32_t id = reserve->block_at[index];
        if (heap->blocks[id].size > count * SEGMENT)
            reserve->block_at[index + count] = heap_cut_off(heap, id, count * SEGMENT);
        *was_used = (reserve->ever_used & run) != 0;
        reserve->used |= run;
        reserve->ever_used |= run;
        return id;
    }
    return NO_BLOCK;
}

void reserve_give(struct mimalloc2 *state, uint32_t id)
{
    struct heap *heap = &state->mi.heap;
    struct reserve *reserve = &state->reserve;
    uint64_t index = (heap->blocks[id].address - reserve->start) / SEGMENT;
    uint64_t count = heap->blocks[id].size / SEGMENT;
    reserve->used &= ~run_of(index, count);
    if (index + count < reserve->count && !(reserve->used >> (index + count) & 1)) {
        heap_mark(heap, heap->blocks[id].next, STATE_WASTE);
        heap_join_next(heap, id);
    }
    if (index > 0 && !(reserve->used >> (index - 1) & 1)) {
        heap_mark(heap, heap->blocks[id].previous, STATE_WASTE);
        heap_join_previous(heap, id);
    }
    reserve->block_at[(heap->blocks[id].address - reserve->start) / SEGMENT] = id;
    heap_mark(heap, id, STATE_FREE);
}
