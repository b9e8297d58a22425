/* Requests that a family refuses, as a device whose memory is out does. The program ends at the
 * first, or goes on without the objects that it did not get. */
#ifndef SIMALLOC_REFUSALS_H
#define SIMALLOC_REFUSALS_H

#include "space/heap.h"

#define REFUSED (-2) /* the offset that is told of a request that was refused */

struct refusals {
    bool goes_on;
    bool is_latest;  /* was the request of the latest event refused? */
    uint64_t count;
    uint64_t first;  /* the number of the first refused event, from 1 on; 0: none was */
    uint64_t *sizes; /* bytes of the program that are live in each slot */
    uint32_t slots;
    int64_t live; /* bytes of the program, without those of objects that it did not get */
    int64_t live_after[BATCH]; /* the same after each event of a batch */
};

/* Makes sure that there are this many slots; false when memory is exhausted. */
bool refusals_reserve(struct refusals *refusals, uint64_t slots);
void refusals_release(struct refusals *refusals);

ALWAYS_INLINE void refusals_note(struct refusals *refusals, uint64_t event, bool counts)
{
    refusals->is_latest = true;
    if (!counts)
        return;
    refusals->count++;
    if (refusals->first == 0)
        refusals->first = event + 1;
}

/* Notes how many bytes are live in a slot after an event of the batch. */
ALWAYS_INLINE void refusals_note_live(struct refusals *refusals, uint32_t slot, uint64_t size)
{
    refusals->live += (int64_t)(size - refusals->sizes[slot]);
    refusals->sizes[slot] = size;
}

/* Whether a program has ended. */
ALWAYS_INLINE bool refusals_end(const struct refusals *refusals)
{
    return refusals->first > 0 && !refusals->goes_on;
}

#endif
