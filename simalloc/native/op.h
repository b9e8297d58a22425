/* What an event does to its object: simalloc.trace.events.Op in C. */
#ifndef SIMALLOC_OP_H
#define SIMALLOC_OP_H

/* Those from OP_USE on matter to devices' allocators alone. */
enum op {
    OP_MALLOC = 0,
    OP_FREE = 1,
    OP_REALLOC = 2,
    OP_USE = 3,   /* another stream uses the object from now on */
    OP_EMPTY = 4, /* what is cached is given back; of no object */
};

#endif
