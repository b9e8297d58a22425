/* The live objects of a trace file, from their numbers to their slots.
 *
 * Most objects die young. The slots of those allocated last lie in a ring, an entry each, dead ones
 * included; what outlives the ring goes to a map. The ring grows with the live objects and with the
 * map, so that few die there: it takes up to 16 bytes a live object, or 32 for each in the map. The
 * first is the caller's. */
#ifndef SIMALLOC_RECENT_H
#define SIMALLOC_RECENT_H

#include "key_map.h"

struct recent {
    uint32_t *ring; /* of object i at i & mask if objects - i <= mask + 1; NO_SLOT: it is dead */
    uint64_t mask;  /* entries less one; a power of two less one */
    uint32_t *first; /* the caller's memory, in which the ring is before it grows */
    struct key_map old; /* the live objects that are older */
};

/* Begins with a ring of this many entries, a power of two. */
bool recent_init(struct recent *recent, uint32_t *first, size_t entries);
void recent_release(struct recent *recent);

/* Moves what object `next` is about to replace in the ring to the map. */
bool recent_retire(struct recent *recent, int64_t next);

/* Makes the ring twice as large if it has become too small; of `objects` that were allocated
 * `live` are live. */
bool recent_balance(struct recent *recent, int64_t objects, size_t live);

#endif
