/* The objects of the trace that are live. */
#ifndef SIMALLOC_OBJECTS_H
#define SIMALLOC_OBJECTS_H

#include "space/heap.h"

struct objects {
    uint32_t *blocks; /* of the object in each slot, as trace.py numbers them; NO_BLOCK: of none */
    uint64_t count;   /* of slots */
};

/* Makes sure that there are the slots of some events; false when memory is exhausted. */
bool objects_reserve(struct objects *objects, const uint32_t *slots, size_t count);
void objects_release(struct objects *objects);

#endif
