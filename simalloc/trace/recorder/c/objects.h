/* Converts the records of a recording, in global order, to events on numbered objects. */
#ifndef SIMALLOC_RECORDING_OBJECTS_H
#define SIMALLOC_RECORDING_OBJECTS_H

#include "../../c/live_table.h"
#include "decode.h"

/* Columns of events to be filled. `count` events are filled so far. */
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

enum { EVENTS_OF_A_RECORD = 2 }; /* maximum number of events for one record; the columns need space
                                  * for all of them */

/* A realloc that has begun. Its object is live under a key that is not an address. */
struct pending {
    struct record begin;
    bool known;       /* true if the object was allocated while recording */
    int64_t old_size; /* bytes of the object, if known */
};

/* Reallocs that have begun in a stream. More than one is pending only if a signal handler
 * interrupted a realloc. */
struct pendings {
    struct pending *pending;
    size_t count;
    size_t capacity;
};

struct objects {
    struct live_table table; /* keyed by address, or by a negative number for a pending realloc */
    int64_t frees_of_unknown;    /* frees of blocks allocated before the recording; skipped */
    int64_t reallocs_of_unknown; /* reallocs of blocks allocated before the recording; converted to
                                  * mallocs */
    int64_t reallocs_failed;
    int64_t frees_unseen; /* frees inserted before an allocation at an address that was still in
                           * use */
};

bool objects_init(struct objects *objects);
void objects_release(struct objects *objects);

enum objects_answer { OBJECTS_DONE, OBJECTS_DAMAGED, OBJECTS_MEMORY };

/* Converts the next record, which belongs to stream `stream`. */
enum objects_answer objects_enter(struct objects *objects, const struct record *record,
                                  uint32_t stream, struct pendings *pendings,
                                  struct columns *out);

#endif
