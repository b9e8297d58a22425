/* The objects of a trace that are live: from the key a log gives them (an id or an address)
 * to the number of the object and the slot it occupies.
 *
 * A hash table with linear probing and backward-shift deletion, so that its size follows the
 * objects live at once and not those ever allocated. */
#ifndef SIMALLOC_LIVE_TABLE_H
#define SIMALLOC_LIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_SIZE (INT64_C(1) << 47) /* bytes of a request */

enum op { OP_MALLOC = 0, OP_FREE = 1, OP_REALLOC = 2 };

/* Why an event is not valid; trace.py has the words. */
enum reason {
    REASON_NONE,
    REASON_OP,
    REASON_FREE_OF_DEAD,
    REASON_REALLOC_OF_DEAD,
    REASON_MALLOC_OF_LIVE,
    REASON_MOVE_TO_LIVE,
    REASON_SIZE,
    REASON_TOO_MANY,
    REASON_TOTAL,
    REASON_MEMORY, /* no memory for the table itself */
    REASON_COUNT,
};

struct live_entry {
    int64_t key;
    int64_t object;
    uint32_t slot; /* NO_SLOT: the place is empty */
};

struct live_table {
    struct live_entry *entries; /* 1 << bits places, at most half of them taken */
    unsigned bits;
    size_t live;
    int64_t objects;      /* allocated so far, and the number of the next one */
    uint32_t slots;       /* ever in use: the most objects that were live at once */
    size_t slot_capacity; /* the length of the two arrays that follow */
    uint32_t *free_slots; /* a stack: the slot freed last is taken first */
    int64_t *sizes;       /* of the object in each slot */
    size_t free_count;    /* live + free_count == slots */
    int64_t reallocs;
    int64_t allocated_bytes; /* by malloc and realloc events; bounds live_bytes */
    int64_t live_bytes;
    int64_t max_live_bytes;
};

bool live_table_init(struct live_table *table);
void live_table_release(struct live_table *table);

/* Whether an object with this key is live, and its slot. */
bool live_table_find(const struct live_table *table, int64_t key, uint32_t *slot);

/* The columns of a run of events. */
struct events {
    size_t count;
    const uint8_t *op;
    const int64_t *key;
    const int64_t *size;
    const int64_t *new_key; /* of a realloc's object from then on; NULL: keys stay */
};

/* Enters event `i` of a run; if it is not valid the table stays as it was. */
enum reason live_table_enter_one(struct live_table *table, const struct events *events, size_t i,
                                 int64_t *object, uint32_t *slot);

/* Enters a run of events and answers how many were valid; if fewer than all, `*why` says what is
 * wrong with the first that is not, and the table is as it was before it. */
size_t live_table_enter(struct live_table *table, const struct events *events, int64_t *object,
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
void live_table_enter_lenient(struct live_table *table, const struct events *events,
                              const struct kept_events *kept, struct leniency *leniency);

#endif
