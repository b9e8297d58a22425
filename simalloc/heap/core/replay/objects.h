/* Live objects of the trace. */
#ifndef SIMALLOC_OBJECTS_H
#define SIMALLOC_OBJECTS_H

#include "space/heap.h"

struct objects {
    uint32_t *blocks; /* by slot (trace.py): block of the object, or NO_BLOCK without an object */
    uint64_t count;
};

/* Ensures the slots of some events. Returns false if memory is exhausted. */
bool objects_reserve(struct objects *objects, const uint32_t *slots, size_t count);
void objects_release(struct objects *objects);

#endif
