/* The arenas of jemalloc, and their assignment to threads. */
#ifndef SIMALLOC_JEMALLOC_THREADS_H
#define SIMALLOC_JEMALLOC_THREADS_H

#include "families/jemalloc/collect.h"

enum {
    /* number of frees after which a thread of 5.3.1 that never allocated gets a cache */
    FREES_BEFORE_CACHE = 128,
    POOL_OF_EXCEPTIONS = 72704, /* bytes that the C++ library allocates when it is loaded */
    POOL_WRITTEN = 16,          /* bytes of the pool that are written when it is allocated */
    BYTES_OF_THREAD = 288,      /* bytes that the C library allocates for each started thread */
};

/* Allocates an object from an arena. Returns NO_BLOCK if memory or the capacity is exhausted. */
uint32_t jemalloc_allocate_from(struct jemalloc *state, struct thread *thread, struct arena *arena,
                                uint64_t usable, uint64_t alignment);

/* Allocates an object from the thread's arena, or from the arena for oversize requests if `size` is
 * oversize. */
uint32_t jemalloc_allocate_past_cache(struct jemalloc *state, struct thread *thread, uint64_t size,
                                      uint64_t usable, uint64_t alignment);

void jemalloc_free_past_cache(struct jemalloc *state, struct thread *thread, uint32_t block);

void jemalloc_release_thread(struct jemalloc *state, uint32_t number);

/* Runs the decay of all arenas by the clock, as jemalloc's background threads do. */
void jemalloc_look_at_all(struct jemalloc *state);

/* Returns the data of a thread. The thread starts at its first allocation. Returns NULL if memory
 * is exhausted. */
struct thread *jemalloc_find_thread(struct jemalloc *state, uint32_t number, bool allocates);

/* Advances the clock for an event and returns the event's thread. Returns NULL if memory is
 * exhausted. */
ALWAYS_INLINE struct thread *begin(struct jemalloc *state, bool allocates)
{
    state->events++;
    state->now = state->tick > 0 ? state->events * state->tick : state->heap.request.time;
    if (UNLIKELY(state->background_thread))
        jemalloc_look_at_all(state);
    uint32_t number = state->heap.request.thread;
    struct thread *thread = number < state->thread_count ? state->threads[number] : NULL;
    if (LIKELY(thread != NULL && thread->arena != NULL))
        return thread;
    return jemalloc_find_thread(state, number, allocates);
}

#endif
