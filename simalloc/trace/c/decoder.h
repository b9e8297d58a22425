/* Decodes the chunks of a trace file (docs/trace-format.md) to events and checks them. */
#ifndef SIMALLOC_DECODER_H
#define SIMALLOC_DECODER_H

#include "planes.h"
#include "recent.h"

/* A chunk: one byte per op, then in event order the `sizes` of allocating events and the `ages` of
 * events on existing objects. */
struct packed {
    size_t count; /* number of events */
    const uint8_t *ops;
    struct planes sizes;
    struct planes ages;
};

/* Columns for events, one entry each. */
struct decoded {
    size_t count;
    uint8_t *op;
    int64_t *size;
    uint32_t *slot;
    int64_t *live;   /* live bytes after the event, or NULL */
    int64_t *object; /* object numbers, or NULL */
};

struct decoder {
    struct recent recent;
    struct live_slots live;
    /* The current chunk: */
    struct packed packed;
    size_t done; /* number of decoded events */
    struct cursor sizes;
    struct cursor ages;
};

/* Result of decoding: the number of decoded events, and the reason for the end. */
struct decoding {
    size_t done;
    enum reason why; /* reason why event `done`, with this object and size, is invalid */
    int64_t object;
    bool sound; /* true if the chunk contains exactly the sizes and ages that its ops require */
};

/* Starts with a `ring` (recent.h) of `entries` entries, a power of two. The ring must not be
 * moved. */
bool decoder_init(struct decoder *decoder, uint32_t *ring, size_t entries);
void decoder_release(struct decoder *decoder);

/* Sets the next chunk. Its columns must not be moved until its last event has been decoded. */
void decoder_begin(struct decoder *decoder, const struct packed *packed);

/* Decodes the next events of the chunk into columns. The chunk must have enough events left to fill
 * the columns. The first invalid event ends the chunk. */
struct decoding decoder_decode(struct decoder *decoder, const struct decoded *into);

#endif
