#include "replay.h"

#include <stdlib.h>

bool replay_grow_slots(struct replay *replay, uint32_t slot)
{
    uint64_t count = replay->slot_count + replay->slot_count / 2 + 64;
    if (count <= slot)
        count = (uint64_t)slot + 1;
    struct slot *slots = realloc(replay->slots, (size_t)count * sizeof *slots);
    if (slots == NULL) {
        replay->heap->failure = "no memory is left for the live objects";
        return false;
    }
    for (uint64_t i = replay->slot_count; i < count; i++)
        slots[i].block = NO_BLOCK;
    replay->slots = slots;
    replay->slot_count = count;
    return true;
}

void replay_note_break(struct replay *replay)
{
    struct measures *measures = &replay->measures;
    const struct heap *heap = replay->heap;
    if (measures->heap == 0)
        measures->heap_at_max_live = heap->brk; /* the first event, should live stay at 0 */
    measures->heap = heap->brk;
    measures->heap_bytes = (double)heap->brk / (double)replay->scale;
    if (heap->brk > measures->peak_heap) {
        measures->peak_heap = heap->brk;
        measures->live_at_peak_heap = measures->live;
        measures->allocated_at_peak_heap = heap->counters.allocated;
    }
    timeline_note_heap(&replay->timeline, heap->brk);
}

bool replay_watch(struct replay *replay, const struct events *events, size_t i)
{
    struct heap *heap = replay->heap;
    if (events->address != NULL) {
        uint32_t id = replay->slots[events->slot[i]].block;
        events->address[i] = id == NO_BLOCK ? -1 : (int64_t)heap->blocks[id].address;
    }
    if (replay->checked)
        heap->failure = replay->mechanism->check(heap);
    return heap->failure == NULL;
}
