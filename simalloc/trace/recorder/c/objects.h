/* From the records of a recording, in the global order, to events on numbered objects. */
#ifndef SIMALLOC_RECORDING_OBJECTS_H
#define SIMALLOC_RECORDING_OBJECTS_H

#include "../../c/live_table.h"
#include "decode.h"

/* Columns of events to be filled, `count` so far. */
struct columns {
    size_t count;
    size_t capacity;
    uint8_t *op;
    int64_t *object;
    int64_t *address;
    int64_t *size;
    int64_t *alignment;
    uint32_t *thread;
    int64_t *time;
    uint32_t *site;
};

enum { EVENTS_OF_A_RECORD = 2 }; /* at most: there must be room for them */

/* A realloc that has begun. Its object is live under a key that is not an address. */
struct pending {
    struct record begin;
    bool known;       /* the object was allocated while recording */
    int64_t old_size; /* bytes of the object, if known */
};

/* A stream's reallocs that have begun: more than one only if a signal handler interrupted it. */
struct pendings {
    struct pending *pending;
    size_t count;
    size_t capacity;
};

struct objects {
    struct live_table table; /* keyed by address, or by pending realloc (below 0) */
    int64_t frees_of_unknown;    /* allocated before the recording began: skipped */
    int64_t reallocs_of_unknown; /* allocated before the recording: recorded as a malloc */
    int64_t reallocs_failed;
    int64_t frees_unseen; /* an address was given out again: a free is put before it */
};

bool objects_init(struct objects *objects);
void objects_release(struct objects *objects);

enum objects_answer { OBJECTS_DONE, OBJECTS_DAMAGED, OBJECTS_MEMORY };

/* Enters the next record, which is of stream `stream`. */
enum objects_answer objects_enter(struct objects *objects, const struct record *record,
                                  uint32_t stream, struct pendings *pendings,
                                  struct columns *out);

#endif
