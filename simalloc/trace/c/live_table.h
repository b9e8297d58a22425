/* The live objects of a trace. Maps the key of an object in the log (an id or an address) to the
 * object's number and its slot. */
#ifndef SIMALLOC_LIVE_TABLE_H
#define SIMALLOC_LIVE_TABLE_H

#include "key_map.h"
#include "live_slots.h"

struct live_table {
    struct key_map map;
    struct live_slots live;
    int64_t *objects; /* number of the object in each slot */
    size_t capacity;  /* entries of `objects`, equal to live.capacity once an object exists */
};

bool live_table_init(struct live_table *table);
void live_table_release(struct live_table *table);

/* Returns whether an object with this key is live, and stores its slot. */
bool live_table_find(const struct live_table *table, int64_t key, uint32_t *slot);

/* Columns of a run of events. */
struct read_events {
    size_t count;
    const uint8_t *op;
    const int64_t *key;
    const int64_t *size;
    const int64_t *new_key; /* new key of a realloc's object, or NULL if keys do not change */
};

/* Enters event `i` of a run. An invalid event leaves the table unchanged. */
enum reason live_table_enter_one(struct live_table *table, const struct read_events *events,
                                 size_t i, int64_t *object, uint32_t *slot);

/* Enters a run of events up to the first invalid one. Returns the number of entered events. If an
 * event is invalid, `*why` is the reason, and the table is in the state before it. */
size_t live_table_enter(struct live_table *table, const struct read_events *events, int64_t *object,
                        uint32_t *slot, enum reason *why);

/* Columns for the events that a lenient reading keeps. */
struct kept_events {
    size_t capacity;
    uint8_t *op;
    int64_t *object;
    int64_t *size;
    uint32_t *slot;
    int64_t *source; /* index of the input event of each kept event */
};

struct leniency {
    size_t taken; /* input events that were entered or skipped */
    size_t kept;  /* kept events */
    enum reason why;                /* reason why the next event cannot be skipped, or
                                     * REASON_NONE */
    int64_t count[REASON_COUNT];    /* number of skipped events, by reason */
    int64_t first[REASON_COUNT];    /* first skipped event, by reason; valid if the count is not
                                     * 0 */
};

/* Enters the valid events of a run until all are processed or the columns are full. Skips an event
 * that frees or resizes an unknown object, or that has an invalid size. An allocation may get a key
 * that is still in use, because the log has lost a free. In this case, a free of the key's object
 * is inserted before the allocation. */
void live_table_enter_lenient(struct live_table *table, const struct read_events *events,
                              const struct kept_events *kept, struct leniency *leniency);

#endif
