/* Lifetimes of objects, computed in one pass over a trace in memory proportional to its live
 * objects.
 *
 * A life begins with a malloc or realloc and ends with the next realloc or free of the object. Its
 * temporal neighbours are the lives born just before and just after it. A life is completed when it
 * and both neighbours have ended. The clock counts allocated bytes. */
#ifndef SIMALLOC_LIVES_H
#define SIMALLOC_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An entry of the table of lives.
 * awaited = (has not ended) + (previous life has not ended) + (next life is unborn or has not
 * ended); at 0 the life is completed and its place is free. */
struct life {
    int64_t born;  /* event of the birth */
    int64_t birth; /* clock before the birth */
    int64_t death; /* clock at the death, or STILL_LIVE */
    int64_t until; /* clock at the latest death among the life and its neighbours */
    int64_t size;
    int64_t number; /* number of lives born earlier */
    int64_t mark;   /* the caller's mark of the birth event */
    int64_t marked; /* event at which the object got its current mark */
    uint32_t before; /* place of the previous life, or NOBODY */
    uint32_t after;  /* place of the next life or, if free, of the next free place; or NOBODY */
    uint32_t reallocs; /* reallocs of the object so far */
    uint32_t awaited;  /* deaths until completion; 0 in a free place */
};

/* A life that has ended (same fields in statistics/life_reader.py). */
struct ended {
    int64_t born;
    int64_t died; /* event of the death; the number of events if never freed */
    int64_t size;
    int64_t birth;
    int64_t death;
    int64_t length; /* number of lives born from this birth (inclusive) until the death */
    int64_t mark;
    int64_t marked;
};

/* A completed life. */
struct completed {
    int64_t wait; /* bytes allocated from its death to its last neighbour's death, or 0 */
    int64_t size;
};

/* Output arrays for ended and completed lives. They need space for all lives that the events can
 * end and complete. */
struct output {
    struct ended *ended;
    struct completed *completed;
    size_t ended_count;
    size_t completed_count;
};

enum { COMPLETED_AN_EVENT = 3 };

struct lives {
    uint32_t *in_slot; /* place of the current life of each slot, or NOBODY */
    size_t slots;
    struct life *places;
    uint32_t capacity;
    uint32_t used; /* places 0 to used - 1 were in use at some time */
    uint32_t free; /* head of the free list of places, linked by `after`; or NOBODY */
    uint32_t last; /* place of the latest life, or NOBODY */
    uint32_t finished; /* places processed by lives_finish() */
    int64_t events;
    int64_t born;
    int64_t clock;
    int64_t reallocated;   /* objects with at least one realloc */
    int64_t max_reallocs;  /* maximum number of reallocs of one object */
    __int128 lifetimes;    /* sum of (death - birth) over ended lives, in bytes */
    __int128 weighted;     /* sum of (death - birth) * size */
    __int128 lengths;      /* sum of `length` */
};

enum lives_fault { LIVES_SOUND, LIVES_NO_MEMORY, LIVES_UNSOUND };

bool lives_init(struct lives *lives, size_t slots);
void lives_release(struct lives *lives);

/* Processes `count` events. Returns LIVES_UNSOUND if they do not form a valid trace. `mark` may be
 * NULL; every mark is then 0. */
enum lives_fault lives_enter(struct lives *lives, size_t count, const uint8_t *op,
                             const int64_t *size, const uint32_t *slot, const int64_t *mark,
                             struct output *output);

/* Ends all lives that were never freed and completes all others, at most `most` lives per call.
 * Call it until `completed_count` stays 0; lives_enter() must not be called afterwards. */
void lives_finish(struct lives *lives, size_t most, struct output *output);

#endif
