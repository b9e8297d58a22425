/* Values made from a pickle of data, in little memory with a limit. */
#ifndef SIMALLOC_PICKLE_VALUES_H
#define SIMALLOC_PICKLE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
    UNSET, /* an unused place of the memo */
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
    ENTRY, /* entry of a snapshot's history: row `number` */
};

struct value {
    uint32_t kind;
    uint32_t length;
    union {
        int64_t number;
        double real;
        uint64_t place; /* offset in the pickle */
        struct items *items;
    };
};

/* The values of a list or tuple, or the keys and values of a dict in turn. */
struct items {
    struct value *at;
    struct items *older; /* next older items, so that all can be freed */
    void *made;          /* Python object made from it, or NULL */
    uint32_t count, capacity;
    bool fixed;    /* true if it must not change any more, because another may share its values */
    bool borrowed; /* true if its values belong to another */
    bool busy;     /* true while it is converted to a Python object */
};

/* Memory that may still be allocated, and all items made. */
struct store {
    uint64_t left; /* bytes left */
    struct items *newest;
    const char *trouble; /* error that ends the reading, or NULL */
};

extern const char *const TOO_LARGE;

/* Counts bytes as allocated. Returns false if they exceed the limit. */
bool store_take(struct store *store, uint64_t bytes);

/* Reserves one more entry of `width` bytes in an array. Returns false, with store->trouble set, if
 * memory is exhausted. */
bool store_grow(struct store *store, void **array, size_t count, size_t *capacity, size_t width);

/* Returns new items, or NULL, with store->trouble set, if memory is exhausted. */
struct items *store_items(struct store *store);
bool items_add(struct store *store, struct items *items, struct value value);
/* Empties a list, tuple or dict, but keeps it: others may still name it. */
void items_clear(struct store *store, struct items *items);
void store_release(struct store *store);

#endif
