/* The lives of a trace's objects, told as they end: what there is to say of a trace of any length
 * in the memory of what is live.
 *
 * A life begins with a malloc or realloc and ends with a realloc or free. Its neighbours are those
 * born just before and after it; it is completed when it and both of them have ended. The clock
 * counts allocated bytes. */
#ifndef SIMALLOC_LIVES_H
#define SIMALLOC_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct life {
    int64_t born;  /* the event */
    int64_t birth; /* the clock before it */
    int64_t death; /* the clock when it ended; STILL_LIVE until then */
    int64_t until; /* the clock when the latest awaited life ended */
    int64_t size;
    int64_t number; /* how many were born before */
    int64_t mark;   /* the caller's, of the event of the birth */
    int64_t marked; /* the event at which its object got that mark */
    uint32_t before; /* neighbours: places, or NOBODY */
    uint32_t after;  /* also links places that are free */
    uint32_t reallocs; /* of the object up to now */
    uint32_t awaited;  /* itself and its neighbours that have not ended; 0: a free place */
};

/* A life that ended (statistics/life_reader.py has the same fields). */
struct ended {
    int64_t born;
    int64_t died; /* the event; of what is never freed the number of events */
    int64_t size;
    int64_t birth;
    int64_t death;
    int64_t length; /* lives begun from the birth on, this one included, until the death */
    int64_t mark;
    int64_t marked;
};

/* A life that is completed: how long its neighbours outlived it. */
struct completed {
    int64_t wait;
    int64_t size;
};

/* Arrays that ended and completed lives are written to, with room for all that the events can end
 * and complete. */
struct told {
    struct ended *ended;
    struct completed *completed;
    size_t ended_count;
    size_t completed_count;
};

enum { COMPLETED_AN_EVENT = 3 };

struct lives {
    uint32_t *in_slot; /* the place of the life in each slot, or NOBODY */
    size_t slots;
    struct life *places;
    uint32_t capacity;
    uint32_t used; /* places that were ever taken */
    uint32_t free; /* the first free place below that, or NOBODY */
    uint32_t last; /* the life born last */
    uint32_t finished; /* places that `lives_finish` has looked at */
    int64_t events;
    int64_t born;
    int64_t clock;
    int64_t reallocated;   /* objects that were reallocated at all */
    int64_t most_reallocs; /* of one object */
    __int128 lifetimes;    /* of the ended, summed up in bytes */
    __int128 weighted;     /* the same, each times the size */
    __int128 lengths;
};

enum lives_fault { LIVES_SOUND, LIVES_NO_MEMORY, LIVES_UNSOUND };

bool lives_init(struct lives *lives, size_t slots);
void lives_release(struct lives *lives);

/* Takes events of a valid trace; `mark` may be NULL. */
enum lives_fault lives_enter(struct lives *lives, size_t count, const uint8_t *op,
                             const int64_t *size, const uint32_t *slot, const int64_t *mark,
                             struct told *told);

/* Ends what is never freed and completes what is left, `most` lives at a time; writes none when
 * nothing is left. No more events can be taken. */
void lives_finish(struct lives *lives, size_t most, struct told *told);

#endif
