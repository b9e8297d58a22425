/* The effect of an event on its object: simalloc.trace.events.Op in C. */
#ifndef SIMALLOC_OP_H
#define SIMALLOC_OP_H

enum op {
    OP_MALLOC = 0,
    OP_FREE = 1,
    OP_REALLOC = 2,
    OP_USE = 3, /* another stream uses the object from now on, on a device */
    OP_EMPTY = 4, /* releases cached memory; without an object */
    OP_CALLOC = 5, /* a malloc whose bytes are zeroed */
    OP_THREAD_END = 6, /* the event's thread ends; of no object */
};

#endif
