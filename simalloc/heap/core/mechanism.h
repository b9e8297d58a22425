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
    uint64_t unit;  /* divides all sizes that are asked for: the scale */
    uint64_t fit;   /* enum fit */
    uint64_t order; /* enum order */
    uint64_t growth;
    uint64_t growth_3x;
    uint64_t series;         /* enum series */
    uint64_t last_remainder; /* enum last_remainder */
    uint64_t small;
    void *policy; /* the Python object that decides */
};

enum fit { FIT_FIRST, FIT_NEXT, FIT_BEST };
enum order { ORDER_LIFO, ORDER_FIFO, ORDER_ADDRESS };
enum series { SERIES_POWERS, SERIES_POWERS_AND_THREES };
enum last_remainder { LAST_REMAINDER_NONE, LAST_REMAINDER_SMALL, LAST_REMAINDER_ANY };

struct mechanism {
    const char *name;
    size_t state_size;
    /* Makes an empty heap of memory that is zero; false: no memory. */
    bool (*init)(void *state, const struct parameters *parameters);
    void (*release)(void *state);
    /* Carries out events until all are done or the heap says why it cannot go on. */
    size_t (*replay)(struct replay *replay, const struct events *events);
    const char *(*check)(const void *state); /* what is wrong with the heap, or NULL */
    /* Free blocks that no search finds, and their bytes; NULL: there are none. */
    uint64_t (*loose)(const void *state, uint64_t *bytes);
    /* Keeps the free blocks in another form from now on, if the policy has one; false: no memory.
     * NULL: none has. */
    bool (*change_form)(void *state);
};

/* The mechanisms are compiled twice, for any processor and for those with AVX2. */
#ifdef SIMALLOC_AVX2
#define MECHANISM(name) name##_avx2
#else
#define MECHANISM(name) name
#endif

extern const struct mechanism list_fit, list_fit_avx2;
extern const struct mechanism best_fit, best_fit_avx2;
extern const struct mechanism binned_fit, binned_fit_avx2;
extern const struct mechanism segregated_storage, segregated_storage_avx2;
extern const struct mechanism binary_buddy, binary_buddy_avx2;
extern const struct mechanism double_buddy, double_buddy_avx2;
extern const struct mechanism python_policy;

#endif
