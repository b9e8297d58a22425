/* The common part of the kinds of bins (bin_list.h, bin_heap.h, bin_array.h).
 *
 * A bin is the id of its next block to be served, or NO_BLOCK. */
#ifndef SIMALLOC_BIN_H
#define SIMALLOC_BIN_H

#include "index/order.h"
#include "space/heap.h"

/* Lists in order of entry, which serve the newest or the oldest block first; and binary heaps by
 * address, linked or, for many blocks, in arrays. */
enum bin_kind { BIN_NEWEST, BIN_OLDEST, BIN_HEAP, BIN_ARRAY };

struct bin_arrays;

/* Data of blocks that bins need beyond the block table. */
struct bin_tables {
    enum bin_kind kind;
    bool held; /* the kind was requested and does not change by itself; by address only */
    bool keyed;
    uint32_t *siblings; /* siblings in linked heaps by block id; NULL in other bins */
    uint64_t *keys;     /* times of entry, by block id; NULL if not keyed */
    uint32_t capacity;  /* number of entries of both, and of the block table */
    struct bin_arrays *arrays; /* NULL of other bins */
};

ALWAYS_INLINE bool bin_kind_is_list(enum bin_kind kind)
{
    return kind == BIN_NEWEST || kind == BIN_OLDEST;
}

/* Initialises tables that are zero so far. `keyed`: lists know when each block entered. */
ALWAYS_INLINE void bin_tables_init(struct bin_tables *tables, enum order order, bool keyed)
{
    static const enum bin_kind kinds[] = {
        [ORDER_LIFO] = BIN_NEWEST, [ORDER_FIFO] = BIN_OLDEST, [ORDER_ADDRESS] = BIN_HEAP};
    tables->kind = kinds[order];
    tables->keyed = keyed && bin_kind_is_list(tables->kind);
}

void bin_tables_release(struct bin_tables *tables);
bool bin_tables_grow(struct bin_tables *tables, uint32_t capacity);

/* Makes sure that there are entries for the ids of a block table; false when memory is exhausted. */
ALWAYS_INLINE bool bin_tables_reserve(struct bin_tables *tables, uint32_t capacity)
{
    return LIKELY(tables->capacity == capacity) || bin_tables_grow(tables, capacity);
}

/* Parameters and counters of a check of all bins. */
struct bin_check {
    const struct block *blocks;
    const struct bin_tables *tables;
    uint32_t (*bin_of)(const void *context, uint64_t size); /* the expected bin of a size */
    const void *context;
    uint64_t met; /* blocks */
};

/* Counts a block of a bin. Returns a description of the block's fault, or NULL. */
const char *bin_check_meet(struct bin_check *check, uint32_t number, uint32_t block);

#endif
