/* tcmalloc's own memory: pieces of the break between the spans. */
#include "families/tcmalloc/tcmalloc.h"
#include "space/residence.h"

enum { CHUNK = 128 * 1024, LEAF = 2 << 20, LEAF_PAGES = 1 << 18 };

/* Returns the address of `size` more bytes in the current piece, or in a new piece. Returns 0, with
 * the heap's failure set, if memory is exhausted. */
static uint64_t take(struct tcmalloc *state, uint64_t size)
{
    struct metadata *metadata = &state->metadata;
    struct heap *heap = &state->heap;
    if (metadata->at + size > metadata->end) {
        uint32_t id = tcmalloc_reserve(state, 1) ? heap_need(heap, heap_extend(heap, METADATA_PIECE)) : NO_BLOCK;
        if (id == NO_BLOCK)
            return 0;
        heap_mark(heap, id, STATE_TABLE);
        heap->counters.growths++;
        metadata->at = heap->blocks[id].address;
        metadata->end = metadata->at + METADATA_PIECE;
    }
    metadata->at += size;
    metadata->taken += size;
    return metadata->at - size;
}

void tcmalloc_take_record(struct tcmalloc *state, struct records *records, uint64_t size)
{
    if (!state->heap.setting.mechanism || ++records->used <= records->made)
        return;
    uint64_t place = records->made++ % (CHUNK / size);
    if (place == 0)
        records->chunk = take(state, CHUNK);
    heap_touch(&state->heap, records->chunk + place * size, size);
}

void tcmalloc_give_record(struct tcmalloc *state, struct records *records)
{
    if (state->heap.setting.mechanism)
        records->used--;
}

void tcmalloc_describe(struct tcmalloc *state, uint64_t address, uint64_t size)
{
    struct metadata *metadata = &state->metadata;
    if (!state->heap.setting.mechanism)
        return;
    tcmalloc_take_record(state, &metadata->growths, GROWTH_RECORD);
    uint64_t bytes = LEAF_PAGES * state->page;
    uint64_t first = (state->heap_start + address) / bytes;
    uint64_t end = (state->heap_start + address + size) / bytes + 1;
    for (uint64_t i = first < metadata->end_leaf ? metadata->end_leaf : first; i < end; i++)
        heap_touch(&state->heap, take(state, LEAF), LEAF);
    metadata->end_leaf = end;
}
