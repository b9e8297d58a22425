/* Common part of all kinds of bins (bin_list.h, bin_heap.h, bin_array.h).
 *
 * A bin is the id of the block that is served next, or NO_BLOCK. */
#ifndef SIMALLOC_BIN_H
#define SIMALLOC_BIN_H

#include "index/order.h"
#include "space/heap.h"

/* Kinds of bins: lists in order of entry that serve the newest or the oldest block first, and
 * binary heaps by address that are linked or, for many blocks, in arrays. */
enum bin_kind { BIN_NEWEST, BIN_OLDEST, BIN_HEAP, BIN_ARRAY };

struct bin_arrays;

/* Data of blocks in bins, in addition to the block table. */
struct bin_tables {
    enum bin_kind kind;
    /* True if the kind was requested and does not change by itself; only for bins by address. */
    bool held;
    bool keyed;
    uint32_t *siblings; /* by block id: sibling in a linked heap; NULL in other bins */
    uint64_t *keys;     /* by block id: time of entry; NULL unless keyed */
    uint32_t capacity;  /* number of entries of both tables and of the block table */
    struct bin_arrays *arrays; /* arrays of the bins, or NULL unless the kind is BIN_ARRAY */
};

ALWAYS_INLINE bool bin_kind_is_list(enum bin_kind kind)
{
    return kind == BIN_NEWEST || kind == BIN_OLDEST;
}

/* Initialises tables that are zero. If `keyed` is set, lists store the time at which each block
 * entered. */
ALWAYS_INLINE void bin_tables_init(struct bin_tables *tables, enum order order, bool keyed)
{
    static const enum bin_kind kinds[] = {
        [ORDER_LIFO] = BIN_NEWEST, [ORDER_FIFO] = BIN_OLDEST, [ORDER_ADDRESS] = BIN_HEAP};
    tables->kind = kinds[order];
    tables->keyed = keyed && bin_kind_is_list(tables->kind);
}

void bin_tables_release(struct bin_tables *tables);
bool bin_tables_grow(struct bin_tables *tables, uint32_t capacity);

/* Ensures entries for all ids of a block table with this capacity. Returns false if memory is
 * exhausted. */
ALWAYS_INLINE bool bin_tables_reserve(struct bin_tables *tables, uint32_t capacity)
{
    return LIKELY(tables->capacity == capacity) || bin_tables_grow(tables, capacity);
}

/* Parameters and counters of a check of all bins. */
struct bin_check {
    const struct block *blocks;
    const struct bin_tables *tables;
    uint32_t (*bin_of)(const void *context, uint64_t size); /* returns the expected bin of a size */
    const void *context;
    uint64_t met; /* number of blocks counted so far */
};

/* Counts a block of a bin. Returns a description of the block's fault, or NULL. */
const char *bin_check_meet(struct bin_check *check, uint32_t number, uint32_t block);

#endif
