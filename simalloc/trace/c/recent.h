/* Maps the numbers of the live objects of a trace file to their slots.
 *
 * Most objects die young. A ring has one entry for each of the latest objects, live or dead, with
 * its slot. Objects that outlive the ring move to a map. The ring grows with the number of live
 * objects and with the map, so that few objects die in the map. It needs up to 16 bytes per live
 * object, or 32 bytes per object in the map. The caller provides the memory of the first ring. */
#ifndef SIMALLOC_RECENT_H
#define SIMALLOC_RECENT_H

#include "key_map.h"

struct recent {
    uint32_t *ring; /* ring[i & mask] is the slot of object i if objects - i <= mask + 1, or NO_SLOT
                     * if it is dead */
    uint64_t mask;  /* number of entries, a power of two, minus one */
    uint32_t *first; /* caller's memory, which contains the ring until it grows */
    struct key_map old; /* live objects that have left the ring */
};

/* Starts with a ring of `entries` entries, a power of two. */
bool recent_init(struct recent *recent, uint32_t *first, size_t entries);
void recent_release(struct recent *recent);

/* Moves the entry that object `next` is about to replace from the ring to the map. */
bool recent_retire(struct recent *recent, int64_t next);

/* Doubles the ring if it has become too small. `objects` is the number of allocated objects, and
 * `live` is the number of live objects. */
bool recent_balance(struct recent *recent, int64_t objects, size_t live);

#endif
