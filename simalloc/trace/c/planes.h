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
    size_t next; /* first number that is not ready */
    size_t from; /* first unused entry of the ready ones */
    size_t to;
    uint32_t low[2 * BLOCK];  /* low four bytes of each ready number */
    uint32_t high[2 * BLOCK]; /* other bytes; 0 if numbers have at most four */
};

/* Begins with the first of other numbers. */
void cursor_begin(struct cursor *cursor, const struct planes *planes);

/* Makes BLOCK numbers ready, or all that are left. */
void cursor_prepare(struct cursor *cursor);

/* Takes the next number. Returns false if none is ready. */
bool cursor_take(struct cursor *cursor, uint64_t *number);

bool cursor_exhausted(const struct cursor *cursor);

#endif
