/* Bins of any kind. The kind is a compile-time constant. */
#ifndef SIMALLOC_BINS_H
#define SIMALLOC_BINS_H

#include "index/size/bin_array.h"
#include "index/size/bin_heap.h"
#include "index/size/bin_list.h"

/* All kinds of bins, each with the suffix of its layer_ name. */
#define FOR_BIN_KINDS(DO) \
    DO(newest, BIN_NEWEST) DO(oldest, BIN_OLDEST) DO(heap, BIN_HEAP) DO(array, BIN_ARRAY)
#define LAYER_OF_BIN_KIND(name, kind) [kind] = &layer_##name,

/* Inserts a block as the newest of its bin. Returns whether the bin was empty. */
ALWAYS_INLINE bool bins_insert(uint32_t *bins, const struct bin_tables *tables, uint32_t number,
                               struct block *blocks, uint32_t block, enum bin_kind kind)
{
    if (kind == BIN_ARRAY)
        return bin_array_insert(tables->arrays, bins, number, blocks, block);
    if (kind == BIN_HEAP)
        return bin_heap_insert(&bins[number], blocks, tables->siblings, block);
    return block_ring_insert(&bins[number], blocks, block, kind == BIN_NEWEST);
}

/* Removes a block. Returns whether its bin is then empty. */
ALWAYS_INLINE bool bins_remove(uint32_t *bins, const struct bin_tables *tables, uint32_t number,
                               struct block *blocks, uint32_t block, enum bin_kind kind)
{
    if (kind == BIN_ARRAY)
        return bin_array_remove(tables->arrays, bins, number, blocks, block);
    if (kind == BIN_HEAP)
        return bin_heap_remove(&bins[number], blocks, tables->siblings, block);
    return block_ring_remove(&bins[number], blocks, block);
}

/* Removes the first block of a bin. Returns whether the bin is then empty. */
ALWAYS_INLINE bool bins_remove_first(uint32_t *bins, const struct bin_tables *tables,
                                     uint32_t number, struct block *blocks, enum bin_kind kind)
{
    if (kind == BIN_ARRAY)
        return bin_array_remove(tables->arrays, bins, number, blocks, bins[number]);
    if (kind == BIN_HEAP)
        return bin_heap_remove_first(&bins[number], blocks, tables->siblings);
    return block_ring_remove_front(&bins[number], blocks);
}

/* Changes bins by address to the kind that is faster for the number of free blocks, and reserves
 * memory for a batch of events. Returns false if memory is exhausted. */
bool bins_choose_form(uint32_t *bins, uint32_t count, struct bin_tables *tables,
                      struct block *blocks, uint64_t free_blocks);
/* Changes bins by address to their other kind and keeps that kind. Returns false if memory is
 * exhausted. */
bool bins_change_form(uint32_t *bins, uint32_t count, struct bin_tables *tables,
                      struct block *blocks, uint64_t free_blocks);

/* Returns a description of the fault in a bin, or NULL. `used` is the bit of the bin in the
 * bitmap. */
const char *bins_check(struct bin_check *check, uint32_t number, uint32_t first, bool used);

#endif
