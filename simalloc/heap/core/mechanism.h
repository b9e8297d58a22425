/* The contract between a family of policies and the replay: a struct of functions.
 *
 * A mechanism's state begins with its struct heap, so that the replay can count what every heap
 * has in common. Sizes are scaled; blocks are called by their ids in the block table. */
#ifndef SIMALLOC_MECHANISM_H
#define SIMALLOC_MECHANISM_H

#include "heap.h"

struct replay;
struct events;

/* A description from simalloc.policy.families, in numbers; each family reads its own. */
struct parameters {
    uint64_t fit;   /* enum fit */
    uint64_t order; /* enum order */
    uint64_t growth;
    uint64_t growth_3x;
    uint64_t series;         /* enum series */
    uint64_t last_remainder; /* enum last_remainder */
    uint64_t small;
};

enum fit { FIT_FIRST, FIT_NEXT, FIT_BEST };
enum order { ORDER_LIFO, ORDER_FIFO, ORDER_ADDRESS };
enum series { SERIES_POWERS, SERIES_POWERS_AND_THREES };
enum last_remainder { LAST_REMAINDER_NONE, LAST_REMAINDER_SMALL, LAST_REMAINDER_ANY };

struct mechanism {
    const char *name; /* the family's name in simalloc.policy.families */
    size_t state_size;
    bool (*init)(void *state, const struct parameters *parameters); /* false: no memory */
    void (*release)(void *state);
    /* Carries out events until all are done or the heap says why it cannot go on. */
    size_t (*replay)(struct replay *replay, const struct events *events);
    const char *(*check)(const void *state); /* what is wrong with the heap, or NULL */
};

extern const struct mechanism sequential_fit;
extern const struct mechanism binned_fit;
extern const struct mechanism segregated_storage;
extern const struct mechanism binary_buddy;
extern const struct mechanism double_buddy;

#endif
