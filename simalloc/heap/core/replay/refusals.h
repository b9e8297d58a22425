/* Requests that are refused for lack of memory. The program ends at the first refusal, or continues
 * without the refused objects. */
#ifndef SIMALLOC_REFUSALS_H
#define SIMALLOC_REFUSALS_H

#include "families/family.h"

struct refusals {
    bool goes_on;
    bool is_latest;  /* true if the latest event was refused */
    bool is_over; /* true if the allocator cannot continue */
    uint64_t count;
    uint64_t first;  /* number of the first refused event, counted from 1, or 0 without a refusal */
    /* scaled bytes of the largest free block after the first refused event */
    uint64_t largest_free;
    uint64_t *sizes; /* by slot: live bytes, unscaled */
    uint32_t slots;
    int64_t live; /* live bytes, unscaled, without refused objects */
    int64_t live_after[BATCH]; /* `live` after each event of a batch */
    int64_t granted[BATCH]; /* unscaled bytes that were allocated by each event of a batch */
};

/* Returns the scaled bytes of the largest free block, or of the memory that the capacity still
 * allows if that is larger. */
ALWAYS_INLINE uint64_t family_largest_free(const struct family *family, const struct heap *heap)
{
    if (family->largest_free == NULL)
        return heap_largest_free(heap);
    return heap_with_room(heap, family->largest_free(heap), false);
}

/* Ensures `slots` slots. Returns false if memory is exhausted. */
bool refusals_reserve(struct refusals *refusals, uint64_t slots);
void refusals_release(struct refusals *refusals);

/* Records that the current request was refused. Counts the refusal if `counts` is set. */
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

/* Records the live bytes of a slot after an event of the batch. */
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
