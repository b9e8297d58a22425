/* The objects of the trace that are live. */
#ifndef SIMALLOC_OBJECTS_H
#define SIMALLOC_OBJECTS_H

#include "space/heap.h"

struct objects {
    uint32_t *blocks; /* block of the object in each slot (trace.py); NO_BLOCK: no object */
    uint64_t count;   /* number of slots */
};

/* Makes sure that there are the slots of some events; false when memory is exhausted. */
bool objects_reserve(struct objects *objects, const uint32_t *slots, size_t count);
void objects_release(struct objects *objects);

#endif
