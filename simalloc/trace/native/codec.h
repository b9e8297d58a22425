/* The columns of a chunk as docs/trace-format.md stores them, turned into events. */
#ifndef SIMALLOC_CODEC_H
#define SIMALLOC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `count` unsigned numbers of `width` bytes each: first the lowest byte of all, then the next. */
struct planes {
    const uint8_t *bytes;
    size_t count;
    size_t width;
};

/* Unpacks `count` events: 2-bit ops, four a byte; `sizes` of the mallocs and reallocs and `ages` of
 * the frees and reallocs, in order. `objects` were allocated before them. An age that leads to no
 * object gives a key that is not live. Answers whether the ops are of known kinds and ask for
 * exactly as many sizes and ages as there are. */
bool codec_unpack(size_t count, const uint8_t *packed_ops, struct planes sizes, struct planes ages,
                  int64_t objects, uint8_t *op, int64_t *key, int64_t *size);

#endif
