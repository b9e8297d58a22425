/* Definitions of layers with compile-time functions; each layer has its own replay. */
#ifndef SIMALLOC_DEFINE_LAYER_H
#define SIMALLOC_DEFINE_LAYER_H

#include "replay/replay.h"

/* Defines layer_NAME and its replay. The functions are compile-time constants; further members of
 * struct layer are given by name. `free_may_shrink` is true if a free may shrink the heap or
 * fail. */
#define DEFINE_LAYER(name, free_may_shrink, allocate_, release_, reserve_, ...)              \
    DEFINE_INLINED_LAYER(name, free_may_shrink, allocate_, release_, reserve_,               \
                         .allocate = allocate_, .release = release_, __VA_ARGS__)

/* Defines layer_NAME and its replay like DEFINE_LAYER(), but uses allocate_ and release_ only in
 * the replay. Other callers use the functions given by name, so that long code is not compiled
 * twice. */
#define DEFINE_INLINED_LAYER(name, free_may_shrink, allocate_, release_, reserve_, ...)      \
    static size_t replay_##name(struct replay *replay, const struct events *events);         \
    static const struct layer layer_##name = {                                               \
        .replay = replay_##name,                                                             \
        .reserve = reserve_,                                                                 \
        __VA_ARGS__,                                                                         \
    };                                                                                       \
    static size_t replay_##name(struct replay *replay, const struct events *events)          \
    {                                                                                        \
        return replay_events(replay, events, allocate_, release_, reserve_, &layer_##name,   \
                             free_may_shrink);                                               \
    }

/* Defines the only layer of a family, and its next_layer(). */
#define DEFINE_ONLY_LAYER(name, free_may_shrink, allocate_, release_, reserve_, ...)         \
    DEFINE_LAYER(name, free_may_shrink, allocate_, release_, reserve_, __VA_ARGS__)          \
    DEFINE_NEXT_LAYER(name)

/* Defines next_layer() for a family whose only layer is already defined. */
#define DEFINE_NEXT_LAYER(name)                                                              \
    static const struct layer *next_layer(struct heap *heap)                                 \
    {                                                                                        \
        (void)heap;                                                                          \
        return &layer_##name;                                                                \
    }

#endif
