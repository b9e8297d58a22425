/* What a pickle of data makes: values in little memory, which has a limit. */
#ifndef SIMALLOC_PICKLE_VALUES_H
#define SIMALLOC_PICKLE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
    UNSET, /* a place of the memo that nothing was put into */
    MARK,
    NOTHING, /* None, and bytes, which no snapshot needs */
    TRUTH,
    NUMBER,
    LARGE, /* a number of more than 64 bits: `length` bytes at `place` */
    REAL,
    TEXT, /* UTF-8: `length` bytes at `place` */
    LIST,
    TUPLE,
    DICT,
    ENTRY, /* of a snapshot's history: the row `number` */
};

struct value {
    uint32_t kind;
    uint32_t length;
    union {
        int64_t number;
        double real;
        uint64_t place; /* in the pickle */
        struct items *items;
    };
};

/* The values of a list or tuple; of a dict keys and values in turn. */
struct items {
    struct value *at;
    struct items *older; /* all that were made, for their end */
    void *made;          /* the Python object that it was turned into */
    uint32_t count, capacity;
    bool fixed;    /* it must not change any more: another may share its values */
    bool borrowed; /* its values are another's */
    bool busy;     /* it is being turned into a Python object */
};

/* Memory that may still be taken, and what was. */
struct store {
    uint64_t left; /* bytes */
    struct items *newest;
    const char *trouble; /* why it cannot go on, or NULL */
};

extern const char *const TOO_LARGE;

/* Counts bytes as taken; false if they are too many. */
bool store_take(struct store *store, uint64_t bytes);

/* Makes room for one more of `width` bytes in an array; false, and it cannot go on, if there is
 * none. */
bool store_grow(struct store *store, void **array, size_t count, size_t *capacity, size_t width);

/* Returns NULL, and it cannot go on, when there is no memory. */
struct items *store_items(struct store *store);
bool items_add(struct store *store, struct items *items, struct value value);
/* Empties a list, tuple or dict, but keeps it: others may still name it. */
void items_clear(struct store *store, struct items *items);
void store_release(struct store *store);

#endif
