/* The chunks of a trace file (docs/trace-format.md), turned into events and checked. */
#ifndef SIMALLOC_DECODER_H
#define SIMALLOC_DECODER_H

#include "planes.h"
#include "recent.h"

/* 2-bit ops, four a byte; `sizes` of the mallocs and reallocs and `ages` of the frees and reallocs,
 * in order. */
struct packed {
    size_t count;
    const uint8_t *ops;
    struct planes sizes;
    struct planes ages;
};

/* Where the events go, an entry each. */
struct decoded {
    uint8_t *op;
    int64_t *size;
    uint32_t *slot;
    int64_t *object; /* or NULL */
};

struct decoder {
    struct recent recent;
    struct live_slots live;
};

/* What came of a chunk: events `done`, and why no more. */
struct decoding {
    size_t done;
    enum reason why; /* if it is not valid, event `done` has this object and size */
    int64_t object;
    bool sound; /* there are exactly as many sizes and ages as the ops ask for */
};

bool decoder_init(struct decoder *decoder);
void decoder_release(struct decoder *decoder);

/* Turns the next chunk into events, up to the first that is not valid. */
struct decoding decoder_decode(struct decoder *decoder, const struct packed *packed,
                               const struct decoded *decoded);

#endif
