/* Numbers stored in planes: the lowest bytes of all numbers, then the next bytes, and so on
 * (docs/trace-format.md). */
#ifndef SIMALLOC_PLANES_H
#define SIMALLOC_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK = 1024 };

/* Planes of `count` unsigned numbers of `width` bytes each. */
struct planes {
    const uint8_t *bytes;
    size_t count;
    size_t width;
};

/* Reads numbers from their planes, up to BLOCK numbers ahead. */
struct cursor {
    struct planes planes;
    size_t next; /* first number that is not ready */
    size_t from; /* first unread entry of the ready numbers */
    size_t to;
    uint32_t low[2 * BLOCK];  /* lowest four bytes of each ready number */
    uint32_t high[2 * BLOCK]; /* higher bytes; 0 if the numbers have at most four bytes */
};

/* Moves to the first number of new planes. */
void cursor_begin(struct cursor *cursor, const struct planes *planes);

/* Prepares BLOCK numbers, or the remaining numbers if they are fewer. */
void cursor_prepare(struct cursor *cursor);

/* Reads the next number. Returns false if none is ready. */
bool cursor_take(struct cursor *cursor, uint64_t *number);

bool cursor_exhausted(const struct cursor *cursor);

#endif
