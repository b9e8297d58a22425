/* Carries out events that need more than size and object: alignment, thread, time, written bytes.
 *
 * This is one loop for all families, which calls the functions of their layer. The other loop,
 * replay_batch(), is inlined into each family. */
#ifndef SIMALLOC_REQUESTS_H
#define SIMALLOC_REQUESTS_H

#include "replay/replay.h"

/* Returns whether the events need this loop. */
bool requests_are_needed(const struct replay *replay, const struct events *events);

/* Returns the scaled bytes of the largest free block of a replay that measures it, as
 * heap_largest_free() does. */
uint64_t replay_largest_free(const struct replay *replay);

size_t replay_requests(struct replay *replay, const struct events *events);

/* The layer of a family that refuses requests, which only this loop handles, and its next_layer().
 * Further entries of the layer follow. */
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
