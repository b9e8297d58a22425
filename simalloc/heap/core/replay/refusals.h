/* Requests that are refused for lack of memory. The program ends at the first, or continues without
 * the objects that it did not get. */
#ifndef SIMALLOC_REFUSALS_H
#define SIMALLOC_REFUSALS_H

#include "families/family.h"

struct refusals {
    bool goes_on;
    bool is_latest;  /* was the request of the latest event refused? */
    bool is_over; /* the allocator cannot go on */
    uint64_t count;
    uint64_t first;  /* the number of the first refused event, from 1 on; 0: none was */
    uint64_t largest_free; /* scaled bytes of the largest free block after that event */
    uint64_t *sizes; /* bytes of the program that are live in each slot */
    uint32_t slots;
    int64_t live; /* program bytes, without the objects that the program did not get */
    int64_t live_after[BATCH]; /* `live` after each event of a batch */
    int64_t granted[BATCH]; /* bytes of the program that each event of a batch has got */
};

/* Returns the scaled bytes of the largest free block, with the room to grow beside it. */
ALWAYS_INLINE uint64_t family_largest_free(const struct family *family, const struct heap *heap)
{
    if (family->largest_free == NULL)
        return heap_largest_free(heap);
    return heap_with_room(heap, family->largest_free(heap), false);
}

/* Reserves `slots` slots. Returns false if memory is exhausted. */
bool refusals_reserve(struct refusals *refusals, uint64_t slots);
void refusals_release(struct refusals *refusals);

/* Notes that the request under way was refused, and counts it if it `counts`. */
ALWAYS_INLINE void refusals_note(struct refusals *refusals, const struct family *family,
                                 const struct heap *heap, bool counts)
{
    refusals->is_latest = true;
    if (!counts)
        return;
    refusals->count++;
    if (refusals->first > 0)
        return;
    refusals->first = heap->request.event + 1;
    refusals->largest_free = family_largest_free(family, heap);
}

/* Notes how many bytes are live in a slot after an event of the batch. */
ALWAYS_INLINE void refusals_note_live(struct refusals *refusals, uint32_t slot, uint64_t size)
{
    refusals->live += (int64_t)(size - refusals->sizes[slot]);
    refusals->sizes[slot] = size;
}

/* Returns whether the program has ended. */
ALWAYS_INLINE bool refusals_end(const struct refusals *refusals)
{
    return refusals->is_over || (refusals->first > 0 && !refusals->goes_on);
}

#endif
