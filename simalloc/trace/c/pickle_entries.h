/* Entries of a snapshot's history, stored as rows of numbers. */
#ifndef SIMALLOC_PICKLE_ENTRIES_H
#define SIMALLOC_PICKLE_ENTRIES_H

#include "pickle_values.h"

/* Fields of a row. POOL and PLACES are numbers of sequences, or 0 in an entry without them. */
enum { ACTION, ADDRESS, SIZE, STREAM, POOL, TIME, PLACES, ROW_FIELDS };

struct row {
    int64_t fields[ROW_FIELDS];
};

struct entries {
    struct row *rows;
    size_t count, capacity;
    struct items **sequences; /* distinct sequences; the first has number 1 */
    size_t sequence_count, sequence_capacity;
    uint32_t *table; /* by hash: number of a sequence, or 0 */
    size_t table_size;
};

/* Returns whether a dict has the key that every entry has. */
bool is_entry(const struct items *dict, const uint8_t *bytes);

/* Adds the row of a dict and empties the dict. Returns false, with store->trouble set, on
 * failure. */
bool entries_add(struct entries *entries, struct store *store, struct items *dict,
                 const uint8_t *bytes);
void entries_release(struct entries *entries);

#endif
