/* Layers whose functions are known when the code is compiled, each with a replay of its own. */
#ifndef SIMALLOC_DEFINE_LAYER_H
#define SIMALLOC_DEFINE_LAYER_H

#include "replay/replay.h"

/* Defines layer_NAME, with its replay, from functions of a heap that are known when the code is
 * compiled, and of what else struct layer has, by name. `free_may_shrink`: the heap may shrink, or
 * fail, in a free. */
#define DEFINE_LAYER(name, free_may_shrink, allocate_, release_, reserve_, ...)              \
    DEFINE_INLINED_LAYER(name, free_may_shrink, allocate_, release_, reserve_,               \
                         .allocate = allocate_, .release = release_, __VA_ARGS__)

/* The same where allocate_ and release_ are for the replay alone. Other callers use those that are
 * given by name, so that long code is not compiled twice. */
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

/* The layer of a family that has but one, and its next_layer(). */
#define DEFINE_ONLY_LAYER(name, free_may_shrink, allocate_, release_, reserve_, ...)         \
    DEFINE_LAYER(name, free_may_shrink, allocate_, release_, reserve_, __VA_ARGS__)          \
    DEFINE_NEXT_LAYER(name)

/* The next_layer() of a family whose only layer has been defined. */
#define DEFINE_NEXT_LAYER(name)                                                              \
    static const struct layer *next_layer(struct heap *heap)                                 \
    {                                                                                        \
        (void)heap;                                                                          \
        return &layer_##name;                                                                \
    }

#endif
