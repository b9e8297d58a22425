/* Random numbers of jemalloc, and the decay curve that limits dirty and muzzy pages. */
#ifndef SIMALLOC_JEMALLOC_DECAY_H
#define SIMALLOC_JEMALLOC_DECAY_H

#include <string.h>
#include "families/jemalloc/size_classes.h"

enum { TICKS = 1000 }; /* mean number of ticks between two readings of the clock */

/* Counts ticks of a thread. Returns whether the thread has to read the clock. The intervals are 61
 * ln(64 / n), rounded. */
bool jemalloc_count_ticks(struct thread *thread, uint64_t ticks);

/* Computes the share of pages that may stay after each step: 6x^5 - 15x^4 + 10x^3. */
void jemalloc_fill_shares(struct jemalloc *state);

void jemalloc_decay_init(struct decay *decay, int64_t milliseconds, uint64_t seed, uint64_t now);

/* Advances the decay to the current time. If an interval has ended, updates `limit`, the number of
 * pages that may stay, and returns true. */
bool jemalloc_decay_advance(struct jemalloc *state, struct decay *decay, uint64_t pages);

ALWAYS_INLINE uint64_t random_bits(struct random *random, unsigned bits)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random->state >> (64 - bits);
}

#endif
