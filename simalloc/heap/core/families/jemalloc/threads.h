/* The arenas of jemalloc, and their assignment to threads. */
#ifndef SIMALLOC_JEMALLOC_THREADS_H
#define SIMALLOC_JEMALLOC_THREADS_H

#include "families/jemalloc/collect.h"

enum {
    FREES_BEFORE_CACHE = 128, /* a thread of 5.3.1 that only frees gets a cache at this one */
    POOL_OF_EXCEPTIONS = 72704, /* bytes that the C++ library allocates when it is loaded */
    POOL_WRITTEN = 16,          /* bytes of the pool that are written then */
    BYTES_OF_THREAD = 288,    /* allocated by the C library when a thread is started */
};

/* Returns an object from an arena; NO_BLOCK when memory is exhausted. */
uint32_t jemalloc_allocate_from(struct jemalloc *state, struct thread *thread, struct arena *arena,
                                uint64_t usable, uint64_t alignment);

/* Returns an object from the thread's arena, or, depending on `size`, from the arena of oversize
 * objects. */
uint32_t jemalloc_allocate_past_cache(struct jemalloc *state, struct thread *thread, uint64_t size,
                                      uint64_t usable, uint64_t alignment);

/* Gives an object back to its arena. */
void jemalloc_free_past_cache(struct jemalloc *state, struct thread *thread, uint32_t block);

void jemalloc_release_thread(struct jemalloc *state, uint32_t number);

/* Runs the decay of all arenas by the clock, as jemalloc's background threads do. */
void jemalloc_look_at_all(struct jemalloc *state);

/* Returns the data of a thread, which start at its first allocation, or NULL if memory is
 * exhausted. */
struct thread *jemalloc_find_thread(struct jemalloc *state, uint32_t number, bool allocates);

/* Lets the clock go on for an event, and returns its thread; NULL when memory is exhausted. */
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
