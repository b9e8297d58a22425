/* Mapped segments of one block each, used for single large requests. */
#ifndef SIMALLOC_SEGMENT_H
#define SIMALLOC_SEGMENT_H

#include "space/heap.h"

/* Returns whether a block is a whole mapped segment. */
ALWAYS_INLINE bool segment_is(const struct heap *heap, uint32_t id)
{
    return heap->blocks[id].next == heap->blocks[id].previous && heap->blocks[id].next != NO_BLOCK;
}

/* Maps a segment for an object. Returns NO_BLOCK like heap_map_segment() if this is impossible. */
ALWAYS_INLINE uint32_t segment_allocate(struct heap *heap, uint64_t size)
{
    uint32_t id = heap_map_segment(heap, size, 1);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap_mark(heap, id, STATE_ALLOCATED);
    heap->counters.growths++;
    return id;
}

/* Moves an object to a segment of another size, which does not count as a growth. Returns NO_BLOCK
 * like heap_map_segment() if this is impossible. */
ALWAYS_INLINE uint32_t segment_replace(struct heap *heap, uint32_t id, uint64_t size)
{
    uint64_t old = heap->blocks[id].size;
    if (size > old && !heap_has_room(heap, size - old))
        return heap_refuse(heap);
    heap_unmap_segment(heap, id);
    uint32_t other = heap_map_segment(heap, size, 1);
    if (other != NO_BLOCK)
        heap_mark(heap, other, STATE_ALLOCATED);
    return other;
}

#endif
