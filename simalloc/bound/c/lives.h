/* When objects are live: what an offline placement knows of a trace. */
#ifndef SIMALLOC_LIVES_H
#define SIMALLOC_LIVES_H

#include <stddef.h>
#include <stdint.h>

/* Stands for no life and for no block. */
#define NONE UINT32_MAX

/* A life is an object's from a malloc or realloc until the next of its events. It is live after
 * event `born` up to before event `died`; where one ends and another begins at the same event
 * (a realloc), they are never live together. */
struct lives {
    size_t events;
    const uint32_t *begins; /* by event: the life that begins there, or NONE */
    const uint32_t *ends;   /* by event: the life that ends there, or NONE */
    size_t count;
    const int64_t *size; /* by life: at least 1, in bytes */
    const uint32_t *slot; /* by life: no two lives live at once have the same one */
    const int64_t *born; /* by life: ascending */
    const int64_t *died; /* by life: `events` if it is never freed */
    uint32_t slots;      /* how many slots there are */
};

#endif
