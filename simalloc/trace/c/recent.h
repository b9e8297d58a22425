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
    uint32_t *ring; /* ring[i & mask] is the slot of object i if objects - i <= mask + 1, or NO_SLOT
                     * if it is dead */
    uint64_t mask;  /* number of entries, a power of two, minus one */
    uint32_t *first; /* caller's memory, which holds the ring before it grows */
    struct key_map old; /* older live objects */
};

/* Begins with a ring of `entries`, a power of two. */
bool recent_init(struct recent *recent, uint32_t *first, size_t entries);
void recent_release(struct recent *recent);

/* Moves the entry that object `next` is about to replace from the ring to the map. */
bool recent_retire(struct recent *recent, int64_t next);

/* Doubles the ring if it has become too small. `objects` is the number of allocated objects, and
 * `live` the number of live ones. */
bool recent_balance(struct recent *recent, int64_t objects, size_t live);

#endif
