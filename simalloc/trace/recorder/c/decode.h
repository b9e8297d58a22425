/* The records of one stream, one after the other. */
#ifndef SIMALLOC_RECORDING_DECODE_H
#define SIMALLOC_RECORDING_DECODE_H

#include "../preload/codec.h"
#include "recording.h"

struct record {
    enum kind kind;
    enum special special; /* if the kind is KIND_SPECIAL: the end of a realloc or of a thread,
                             or the process' memory */
    bool zeroed;
    uint32_t thread;
    uint32_t site; /* site number, or 0 if unknown */
    uint64_t sequence;
    uint64_t address; /* address, if the record has one */
    uint64_t size;
    uint64_t alignment; /* requested alignment, or 0 */
    uint64_t time;      /* nanoseconds since the recording began */
    uint64_t resident, mapped; /* bytes of the whole process, in a SPECIAL_MEMORY */
};

enum decode_answer {
    DECODED,
    DECODED_ALL, /* no more committed records */
    DECODE_DAMAGED,
    DECODE_NO_MEMORY, /* memory for the listener is exhausted */
};

/* Callbacks for new places and call sites. */
struct site_listener {
    void *self;
    enum decode_answer (*place)(void *self, uint64_t number, uint64_t offset, const uint8_t *path,
                                size_t length);
    enum decode_answer (*node)(void *self, uint64_t number, uint64_t parent, uint64_t place);
};

/* Begins zeroed. */
struct decoder {
    size_t span;       /* index of the current span */
    uint64_t position; /* bytes of its records read so far */
    uint32_t thread;
    struct codec codec;
};

enum decode_answer decode_next(struct decoder *decoder, const struct recording *recording,
                               const struct spans *spans, const struct site_listener *listener,
                               struct record *record);

#endif
