#include "pickle_values.h"

#include <stdlib.h>

const char *const TOO_LARGE = "it would need too much memory";

bool store_take(struct store *store, uint64_t bytes)
{
    if (bytes > store->left) {
        store->trouble = TOO_LARGE;
        return false;
    }
    store->left -= bytes;
    return true;
}

bool store_grow(struct store *store, void **array, size_t count, size_t *capacity, size_t width)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity + *capacity / 2 + 4;
    if (!store_take(store, (uint64_t)(larger - *capacity) * width))
        return false;
    void *moved = realloc(*array, larger * width);
    if (moved == NULL) {
        store->trouble = "memory is exhausted";
        return false;
    }
    *array = moved;
    *capacity = larger;
    return true;
}

struct items *store_items(struct store *store)
{
    if (!store_take(store, sizeof(struct items)))
        return NULL;
    struct items *items = calloc(1, sizeof *items);
    if (items == NULL) {
        store->trouble = "memory is exhausted";
        return NULL;
    }
    items->older = store->newest;
    store->newest = items;
    return items;
}

bool items_add(struct store *store, struct items *items, struct value value)
{
    if (items->fixed) {
        store->trouble = "it changes an object after an entry has used it";
        return false;
    }
    void *array = items->at;
    size_t capacity = items->capacity;
    if (!store_grow(store, &array, items->count, &capacity, sizeof value))
        return false;
    items->at = array;
    items->capacity = (uint32_t)capacity;
    items->at[items->count++] = value;
    return true;
}

void items_clear(struct store *store, struct items *items)
{
    if (!items->borrowed) {
        free(items->at);
        store->left += items->capacity * sizeof *items->at;
    }
    items->at = NULL;
    items->count = items->capacity = 0;
}

void store_release(struct store *store)
{
    while (store->newest != NULL) {
        struct items *items = store->newest;
        store->newest = items->older;
        if (!items->borrowed)
            free(items->at);
        free(items);
    }
}
