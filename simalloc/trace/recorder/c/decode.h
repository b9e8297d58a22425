/* Decodes the records of one stream in order. */
#ifndef SIMALLOC_RECORDING_DECODE_H
#define SIMALLOC_RECORDING_DECODE_H

#include "../preload/codec.h"
#include "recording.h"

struct record {
    enum kind kind;
    enum special special; /* if the kind is KIND_SPECIAL: the end of a realloc or thread, or a
                           * measurement of memory */
    bool zeroed;
    uint32_t thread;
    uint32_t site; /* site number, or 0 if unknown */
    uint64_t sequence;
    uint64_t address; /* address, if the record has one */
    uint64_t size;
    uint64_t alignment; /* requested alignment, or 0 */
    uint64_t time;      /* nanoseconds since the recording began */
    uint64_t resident, mapped; /* bytes of the whole process in a SPECIAL_MEMORY record */
};

enum decode_answer {
    DECODED,
    DECODED_ALL, /* all committed records have been decoded */
    DECODE_DAMAGED,
    DECODE_NO_MEMORY, /* the listener is out of memory */
};

/* Callbacks for new places and call sites. */
struct site_listener {
    void *self;
    enum decode_answer (*place)(void *self, uint64_t number, uint64_t offset, const uint8_t *path,
                                size_t length);
    enum decode_answer (*node)(void *self, uint64_t number, uint64_t parent, uint64_t place);
};

/* Must begin zeroed. */
struct decoder {
    size_t span;       /* index of the current span */
    uint64_t position; /* bytes of the span's records that have been read */
    uint32_t thread;
    struct codec codec;
};

enum decode_answer decode_next(struct decoder *decoder, const struct recording *recording,
                               const struct spans *spans, const struct site_listener *listener,
                               struct record *record);

#endif
