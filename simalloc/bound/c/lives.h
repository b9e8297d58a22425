/* Lifetimes of a trace's objects: the input of offline placement. */
#ifndef SIMALLOC_LIVES_H
#define SIMALLOC_LIVES_H

#include <stddef.h>
#include <stdint.h>

/* No life, or no block. */
#define NONE UINT32_MAX

/* A life lasts from a malloc or realloc to the object's next event. Life i is live after each event
 * e with born[i] <= e < died[i]. At a realloc, the old life ends and the new one begins at the same
 * event, so they never overlap. */
struct lives {
    size_t events;
    const uint32_t *begins; /* by event: the life that begins there, or NONE */
    const uint32_t *ends;   /* by event: the life that ends there, or NONE */
    size_t count;
    const int64_t *size; /* by life: bytes, at least 1 */
    const uint32_t *slot; /* by life: slot, unique among lives that overlap */
    const int64_t *born; /* by life: event, in ascending order */
    const int64_t *died; /* by life: event, or `events` if never freed */
    uint32_t slots;      /* number of slots */
};

#endif
