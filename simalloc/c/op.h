/* The effect of an event on its object: simalloc.trace.events.Op in C. */
#ifndef SIMALLOC_OP_H
#define SIMALLOC_OP_H

enum op {
    OP_MALLOC = 0,
    OP_FREE = 1,
    OP_REALLOC = 2,
    OP_USE = 3, /* on a device, another stream uses the object from this event on */
    OP_EMPTY = 4, /* releases cached memory; the event has no object */
    OP_CALLOC = 5, /* malloc of zeroed bytes */
    OP_THREAD_END = 6, /* the thread of the event ends; the event has no object */
};

#endif
