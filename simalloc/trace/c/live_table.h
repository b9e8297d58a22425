/* The objects of a trace that are live: from the key a log gives them (an id or an address)
 * to the number of the object and the slot it occupies. */
#ifndef SIMALLOC_LIVE_TABLE_H
#define SIMALLOC_LIVE_TABLE_H

#include "key_map.h"
#include "live_slots.h"

struct live_table {
    struct key_map map;
    struct live_slots live;
    int64_t *objects; /* the number of the object in each slot */
    size_t capacity;  /* of these: that of `live`, once there is an object */
};

bool live_table_init(struct live_table *table);
void live_table_release(struct live_table *table);

/* Whether an object with this key is live, and its slot. */
bool live_table_find(const struct live_table *table, int64_t key, uint32_t *slot);

/* The columns of a run of events. */
struct read_events {
    size_t count;
    const uint8_t *op;
    const int64_t *key;
    const int64_t *size;
    const int64_t *new_key; /* of a realloc's object from then on; NULL: keys stay */
};

/* Enters event `i` of a run; if it is not valid the table stays as it was. */
enum reason live_table_enter_one(struct live_table *table, const struct read_events *events,
                                 size_t i, int64_t *object, uint32_t *slot);

/* Enters a run of events and returns how many were valid; if fewer than all, `*why` says what is
 * wrong with the first that is not, and the table is as it was before it. */
size_t live_table_enter(struct live_table *table, const struct read_events *events, int64_t *object,
                        uint32_t *slot, enum reason *why);

/* Where the events go that a lenient reading keeps. */
struct kept_events {
    size_t capacity;
    uint8_t *op;
    int64_t *object;
    int64_t *size;
    uint32_t *slot;
    int64_t *source; /* the number of the event given that it comes from */
};

struct leniency {
    size_t taken; /* events given that were entered or skipped */
    size_t kept;  /* events that came of them */
    enum reason why;                /* the event after those cannot be skipped; or REASON_NONE */
    int64_t count[REASON_COUNT];    /* of the events that were wrong, by why */
    int64_t first[REASON_COUNT];    /* the first of them, where there is one */
};

/* Enters what is valid of a run of events until all are taken or there is no room. What frees or
 * resizes an unknown object or has no possible size is skipped. Where an allocation gives out a key
 * that is still in use, a free of what had it is kept first: the log has lost that free. */
void live_table_enter_lenient(struct live_table *table, const struct read_events *events,
                              const struct kept_events *kept, struct leniency *leniency);

#endif
