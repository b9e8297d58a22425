/* The chunks of a trace file (docs/trace-format.md), turned into events and checked. */
#ifndef SIMALLOC_DECODER_H
#define SIMALLOC_DECODER_H

#include "planes.h"
#include "recent.h"

/* A chunk: an op a byte; `sizes` of the events that ask for bytes and `ages` of those that begin no
 * object, in order. */
struct packed {
    size_t count; /* of events */
    const uint8_t *ops;
    struct planes sizes;
    struct planes ages;
};

/* Where events go, an entry each. */
struct decoded {
    size_t count;
    uint8_t *op;
    int64_t *size;
    uint32_t *slot;
    int64_t *live;   /* bytes after the event; or NULL */
    int64_t *object; /* or NULL */
};

struct decoder {
    struct recent recent;
    struct live_slots live;
    /* The chunk at hand: */
    struct packed packed;
    size_t done; /* events */
    struct cursor sizes;
    struct cursor ages;
};

/* What came of some events: how many are `done`, and why no more. */
struct decoding {
    size_t done;
    enum reason why; /* if it is not valid, event `done` has this object and size */
    int64_t object;
    bool sound; /* the chunk has as many sizes and ages as its ops ask for */
};

/* The `ring` (recent.h) has this many entries, a power of two; it stays where it is. */
bool decoder_init(struct decoder *decoder, uint32_t *ring, size_t entries);
void decoder_release(struct decoder *decoder);

/* Takes the next chunk to hand; its columns stay where they are until its last event is done. */
void decoder_begin(struct decoder *decoder, const struct packed *packed);

/* Turns the next events of the chunk into columns; at least as many are left. The first that is not
 * valid ends the chunk. */
struct decoding decoder_decode(struct decoder *decoder, const struct decoded *into);

#endif
