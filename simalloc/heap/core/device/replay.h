/* A trace's events through a device allocator: up to the first request that cannot be served, or as
 * a program goes on that does without it. */
#ifndef SIMALLOC_DEVICE_REPLAY_H
#define SIMALLOC_DEVICE_REPLAY_H

#include "../../../core/op.h"
#include "allocator.h"

/* A run of events, column by column. */
struct events {
    size_t count;
    const uint8_t *op;
    const int64_t *size;
    const uint32_t *slot;
    const uint32_t *stream; /* or NULL: all of one */
    const uint32_t *pool;   /* or NULL: none is private */
};

/* The states after each event, each an entry; all NULL if they are not wanted. */
struct states {
    int64_t *address; /* -1 where the event leaves no object */
    int64_t *live;
    int64_t *reserved;
    int64_t *allocated;
    int64_t *free_blocks;
};

struct object {
    uint32_t block; /* NO_BLOCK of no object */
    int64_t size;
};

struct device_replay {
    const struct device_family *family;
    struct allocator *allocator;
    bool frees_first; /* does a realloc free the old block before it asks for the new one? */
    bool goes_on;     /* after a request that cannot be served? */
    bool checked;
    struct object *objects; /* by slot */
    size_t slots;
    uint64_t events;    /* carried out */
    uint64_t first_oom; /* the number of the request that was not served, from 1 on; or 0 */
    int64_t live;       /* bytes of the program */
    uint64_t coalescing_frees;
};

/* Carries out events and returns how many; after a failure none more, nor after one that cannot be
 * served unless it goes on. */
size_t device_replay_events(struct device_replay *replay, const struct events *events,
                            const struct states *states);

#endif
