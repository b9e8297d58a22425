/* Execution of events that need more than a size and an object: alignment, thread, time or written
 * bytes.
 *
 * One loop serves all families and calls the functions of their layer. The other loop,
 * replay_batch(), is inlined into each family. */
#ifndef SIMALLOC_REQUESTS_H
#define SIMALLOC_REQUESTS_H

#include "replay/replay.h"

/* Returns whether the events need this loop. */
bool requests_are_needed(const struct replay *replay, const struct events *events);

/* Returns the scaled bytes of the largest free block, like heap_largest_free(), of a replay that
 * measures it. */
uint64_t replay_largest_free(const struct replay *replay);

size_t replay_requests(struct replay *replay, const struct events *events);

/* Defines next_layer() and the layer of a family that refuses requests, which only this loop
 * supports. Further members of the layer follow the functions. */
#define REFUSING_LAYER(allocate_, release_, resize_, reserve_, ...) \
    static const struct layer *next_layer(struct heap *heap)        \
    {                                                               \
        static const struct layer layer = {                         \
            .replay = replay_requests,                              \
            .allocate = allocate_,                                  \
            .release = release_,                                    \
            .resize = resize_,                                      \
            .reserve = reserve_,                                    \
            __VA_ARGS__};                                           \
        (void)heap;                                                 \
        return &layer;                                              \
    }

#endif
