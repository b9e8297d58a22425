/* What the two kinds of bins share (bin_list.h, bin_heap.h).
 *
 * A bin is the id of the block that is served first, or NO_BLOCK. */
#ifndef SIMALLOC_BIN_H
#define SIMALLOC_BIN_H

#include "mechanism.h"

/* Lists of blocks in order of entry, or heaps by address. */
enum bin_kind { BIN_LIST, BIN_HEAP };

/* What bins need to know of blocks beyond the block table, by block id. */
struct bin_tables {
    enum bin_kind kind;
    bool keyed;
    uint32_t *siblings; /* of blocks in heaps; NULL if there are lists */
    uint64_t *keys;     /* times of entry; NULL if not keyed */
    uint32_t capacity;  /* of both */
};

/* In memory that is zero. */
ALWAYS_INLINE void bin_tables_init(struct bin_tables *tables, enum order order, bool keyed)
{
    tables->kind = order == ORDER_ADDRESS ? BIN_HEAP : BIN_LIST;
    tables->keyed = keyed;
}

void bin_tables_release(struct bin_tables *tables);
bool bin_tables_grow(struct bin_tables *tables, uint32_t capacity);

/* Makes sure that there are entries for the ids of a block table; false when memory is exhausted. */
ALWAYS_INLINE bool bin_tables_reserve(struct bin_tables *tables, uint32_t capacity)
{
    return LIKELY(tables->capacity == capacity) || bin_tables_grow(tables, capacity);
}

/* What a check of bins is told and notes. */
struct bin_check {
    const struct block *blocks;
    const struct bin_tables *tables;
    enum order order;
    uint32_t (*bin_of)(const void *context, uint64_t size); /* where a block should be */
    const void *context;
    uint64_t met; /* blocks */
};

/* Answers what is wrong with a bin, of which a bit says whether it is empty; or NULL. */
const char *bin_check(struct bin_check *check, uint32_t number, uint32_t first, bool used);
/* Meets a block of a bin; answers what is wrong with it by itself, or NULL. */
const char *bin_check_meet(struct bin_check *check, uint32_t number, uint32_t block);

#endif
