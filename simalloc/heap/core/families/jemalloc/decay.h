/* Random numbers of jemalloc, and how many dirty or muzzy pages may stay in the course of time. */
#ifndef SIMALLOC_JEMALLOC_DECAY_H
#define SIMALLOC_JEMALLOC_DECAY_H

#include <string.h>
#include "families/jemalloc/size_classes.h"

enum { TICKS = 1000 }; /* mean number of ticks between two readings of the clock */

/* Counts ticks of a thread. Returns whether the clock is due. The intervals are 61 ln(64 / n),
 * rounded. */
bool jemalloc_count_ticks(struct thread *thread, uint64_t ticks);

/* Fills in the shares of pages that stay: 6x^5 - 15x^4 + 10x^3 at each step. */
void jemalloc_fill_shares(struct jemalloc *state);

void jemalloc_decay_init(struct decay *decay, int64_t milliseconds, uint64_t seed, uint64_t now);

/* Lets time pass; says whether an interval has ended. Then `limit` pages may stay. */
bool jemalloc_decay_advance(struct jemalloc *state, struct decay *decay, uint64_t pages);

/* The next random number of `bits` bits. */
ALWAYS_INLINE uint64_t random_bits(struct random *random, unsigned bits)
{
    random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random->state >> (64 - bits);
}

#endif
