/* Values of a pickle of data, stored compactly and with a memory limit. */
#ifndef SIMALLOC_PICKLE_VALUES_H
#define SIMALLOC_PICKLE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind {
    UNSET, /* unused place of the memo */
    MARK,
    NOTHING, /* None, or bytes, which no snapshot needs */
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

/* Values of a list or tuple, or alternating keys and values of a dict. */
struct items {
    struct value *at;
    struct items *older; /* next older items, so that all can be freed */
    void *made;          /* Python object of these items, or NULL */
    uint32_t count, capacity;
    bool fixed;    /* true if the items must not change any more, because others may share their
                    * values */
    bool borrowed; /* true if the values belong to other items */
    bool busy;     /* true while the items are being converted to a Python object */
};

/* Remaining memory, and all items. */
struct store {
    uint64_t left; /* bytes that may still be allocated */
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
/* Removes the values of a list, tuple or dict. The items remain, because other values may refer to
 * them. */
void items_clear(struct store *store, struct items *items);
void store_release(struct store *store);

#endif
