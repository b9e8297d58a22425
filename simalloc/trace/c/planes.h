/* Numbers that lie in planes: first the lowest byte of all, then the next (docs/trace-format.md). */
#ifndef SIMALLOC_PLANES_H
#define SIMALLOC_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK = 1024 };

/* `count` unsigned numbers of `width` bytes each. */
struct planes {
    const uint8_t *bytes;
    size_t count;
    size_t width;
};

/* Numbers taken out of their planes, up to BLOCK ahead of where they are used. */
struct cursor {
    struct planes planes;
    size_t next; /* the first number that is not yet ready */
    size_t from; /* of those ready, the first that was not used */
    size_t to;
    uint32_t low[2 * BLOCK];  /* four bytes of each that is ready */
    uint32_t high[2 * BLOCK]; /* and the others; 0 if they have no more than four */
};

/* Begins with the first of other numbers. */
void cursor_begin(struct cursor *cursor, const struct planes *planes);

/* Sees to it that BLOCK numbers are ready, or as many as are left. */
void cursor_prepare(struct cursor *cursor);

/* Takes the next number; false if none is ready. */
bool cursor_take(struct cursor *cursor, uint64_t *number);

bool cursor_exhausted(const struct cursor *cursor);

#endif
