/* Properties of an event, and reasons why it may be invalid. */
#ifndef SIMALLOC_EVENT_H
#define SIMALLOC_EVENT_H

#include <stdint.h>

#include "../../c/op.h"

#define MAX_SIZE (INT64_C(1) << 47) /* maximum bytes of a request */

/* Returns whether an event allocates a new object. */
static inline int op_begins(uint8_t op)
{
    return op == OP_MALLOC || op == OP_CALLOC;
}

/* Returns whether an event has a size. */
static inline int op_allocates(uint8_t op)
{
    return op_begins(op) || op == OP_REALLOC;
}

/* Returns whether an event has no object. */
static inline int op_is_of_none(uint8_t op)
{
    return op == OP_EMPTY || op == OP_THREAD_END;
}

/* Reasons why an event is invalid; events.py has the messages. */
enum reason {
    REASON_NONE,
    REASON_OP,
    REASON_FREE_OF_DEAD,
    REASON_REALLOC_OF_DEAD,
    REASON_MALLOC_OF_LIVE,
    REASON_MOVE_TO_LIVE,
    REASON_SIZE,
    REASON_TOO_MANY,
    REASON_TOTAL,
    REASON_USE_OF_DEAD,
    REASON_MEMORY, /* the table itself is out of memory */
    REASON_COUNT,
};

#endif
