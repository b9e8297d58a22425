/* Index of free blocks by size and, for equal sizes, by key: the index of best fit and worst fit.
 *
 * Each size below 16,384 granules has a bin. The few larger blocks are in a tree. A remainder whose
 * place in the list of its bin is too far away is in the tree too, until it is the first block of
 * its bin. A granule is the largest power of two that divides all block sizes. */
#ifndef SIMALLOC_SIZE_INDEX_H
#define SIMALLOC_SIZE_INDEX_H

#include "index/size/bin_map.h"
#include "index/size/bins.h"
#include "index/size/size_tree.h"

struct size_index {
    unsigned granule; /* log2 of the granule in bytes */
    uint64_t entered; /* if bins are lists: time of entry of the newest block */
    struct bin_places places;
    /* Number of blocks in the tree that have a bin; they have the mark NOT_LISTED. */
    uint32_t tree_rests;
    struct bin_tables tables;
    struct bin_map used;
    uint32_t bins[BINS];
    struct size_tree tree;
};

/* Initialises an empty index in memory that is zero. The largest power of two in `unit` divides the
 * size of every block. If `rests` is set, a remainder keeps the place in the order of the block
 * from which it was cut. Returns false if memory is exhausted. */
ALWAYS_INLINE bool size_index_init(struct size_index *index, struct heap *heap, uint64_t unit,
                                   enum order order, bool rests)
{
    index->granule = (unsigned)__builtin_ctzll(unit);
    index->places.passes = PASSES_AT_FIRST;
    bin_tables_init(&index->tables, order, rests);
    return size_tree_init(&index->tree, heap);
}

ALWAYS_INLINE void size_index_release(struct size_index *index)
{
    bin_tables_release(&index->tables);
    size_tree_release(&index->tree);
}

/* Ensures entries for all ids of a block table with this capacity. Returns false if memory is
 * exhausted. */
ALWAYS_INLINE bool size_index_reserve(struct size_index *index, uint32_t capacity)
{
    return bin_tables_reserve(&index->tables, capacity) && size_tree_reserve(&index->tree);
}

/* Changes the kind of bins if a change is due. Returns false if memory is exhausted. */
ALWAYS_INLINE bool size_index_choose_form(struct size_index *index)
{
    const struct heap *heap = index->tree.heap;
    return bins_choose_form(index->bins, BINS, &index->tables, heap->blocks,
                            heap->counters.free_blocks);
}

/* Returns the bin for blocks of `size` bytes, or BINS for blocks of the tree. */
ALWAYS_INLINE uint32_t size_index_bin(const struct size_index *index, uint64_t size)
{
    uint64_t granules = size >> index->granule;
    return LIKELY(granules < BINS) ? (uint32_t)granules : BINS;
}

/* Slow paths: insert a remainder that is older than the newest block of its bin, and remove a block
 * while remainders are in the tree. */
void size_index_enter_older(struct size_index *index, struct block *blocks, uint32_t number,
                            uint32_t block);
void size_index_take_slowly(struct size_index *index, struct block *blocks, uint32_t number,
                            uint32_t block);

/* Returns the sort key in the tree of a block that entered at `time`. */
ALWAYS_INLINE uint64_t size_index_key(enum bin_kind kind, uint64_t address, uint64_t time)
{
    return !bin_kind_is_list(kind) ? address : kind == BIN_NEWEST ? ~time : time;
}

/* Inserts a block that entered at `time`. `rest` is true for a remainder. `kind`, `rest` and
 * `rests` are compile-time constants in all functions of this file. */
ALWAYS_INLINE void size_index_enter(struct size_index *index, struct block *blocks,
                                    uint32_t block, uint64_t size, uint64_t time,
                                    enum bin_kind kind, bool rest)
{
    uint32_t number = size_index_bin(index, size);
    const struct bin_tables *tables = &index->tables;
    if (UNLIKELY(number == BINS))
        size_tree_insert(&index->tree, block, size_index_key(kind, blocks[block].address, time));
    else if (bin_kind_is_list(kind) && rest &&
             UNLIKELY(!bin_list_is_newest(index->bins[number], blocks, block, tables->keys,
                                          kind == BIN_NEWEST)))
        size_index_enter_older(index, blocks, number, block);
    else if (bins_insert(index->bins, tables, number, blocks, block, kind))
        bin_map_set(&index->used, number);
}

/* Inserts a block as the newest. If `rests` is set, stores its time of entry for later
 * remainders. */
ALWAYS_INLINE void size_index_insert(struct size_index *index, struct block *blocks,
                                     uint32_t block, uint64_t size, enum bin_kind kind, bool rests)
{
    uint64_t time = bin_kind_is_list(kind) ? ++index->entered : 0;
    if (bin_kind_is_list(kind) && rests)
        index->tables.keys[block] = time;
    size_index_enter(index, blocks, block, size, time, kind, false);
}

/* Inserts the remainder of a removed block at its place among blocks of equal size. */
ALWAYS_INLINE void size_index_insert_rest(struct size_index *index, struct block *blocks,
                                          uint32_t block, uint64_t size, enum bin_kind kind)
{
    uint64_t time = bin_kind_is_list(kind) ? index->tables.keys[block] : 0;
    size_index_enter(index, blocks, block, size, time, kind, true);
}

/* Removes a block from a bin or from the tree. `first` is true if the block is known to be the
 * first of its bin. */
ALWAYS_INLINE void size_index_take(struct size_index *index, struct block *blocks,
                                   uint32_t number, uint32_t block, enum bin_kind kind,
                                   bool rests, bool first)
{
    const struct bin_tables *tables = &index->tables;
    bool tree_rests = rests && bin_kind_is_list(kind) && index->tree_rests != 0;
    if (UNLIKELY(number == BINS || tree_rests))
        size_index_take_slowly(index, blocks, number, block);
    else if (first ? bins_remove_first(index->bins, tables, number, blocks, kind)
                   : bins_remove(index->bins, tables, number, blocks, block, kind))
        bin_map_clear(&index->used, number);
}

ALWAYS_INLINE void size_index_remove(struct size_index *index, struct block *blocks,
                                     uint32_t block, enum bin_kind kind, bool rests)
{
    uint32_t number = size_index_bin(index, blocks[block].size);
    size_index_take(index, blocks, number, block, kind, rests, false);
}

/* A block with its size, which is known before the block is read. */
struct sized {
    uint32_t block;
    uint32_t bin;
    uint64_t size;
};

/* Returns the first block with exactly `size` bytes, or NO_BLOCK. Blocks in the tree are not found.
 * This unpredictable branch precedes a search of the bitmaps. */
ALWAYS_INLINE struct sized size_index_exact(const struct size_index *index, uint64_t size)
{
    uint32_t bin = size_index_bin(index, size);
    return (struct sized){LIKELY(bin < BINS) ? index->bins[bin] : NO_BLOCK, bin, size};
}

/* Returns the smallest block with at least `size` bytes, the one with the lowest key among equals,
 * or NO_BLOCK. */
ALWAYS_INLINE struct sized size_index_best(const struct size_index *index,
                                           const struct block *blocks, uint64_t size)
{
    uint32_t bin = size_index_bin(index, size);
    if (LIKELY(bin < BINS))
        bin = bin_map_from(&index->used, bin);
    if (LIKELY(bin < BINS))
        return (struct sized){index->bins[bin], bin, (uint64_t)bin << index->granule};
    uint32_t block = index->tree.blocks == 0 ? NO_BLOCK : size_tree_best(&index->tree, size);
    return (struct sized){block, BINS, block == NO_BLOCK ? 0 : blocks[block].size};
}

/* Returns the largest block, the one with the lowest key among equals, or NO_BLOCK. A block that is
 * in the tree although it has a bin is never the first of its size. */
ALWAYS_INLINE struct sized size_index_largest(const struct size_index *index,
                                              const struct block *blocks)
{
    if (index->tree.blocks > index->tree_rests) {
        uint32_t block = size_tree_largest(&index->tree);
        return (struct sized){block, BINS, blocks[block].size};
    }
    uint32_t bin = bin_map_last(&index->used);
    if (bin == BINS)
        return (struct sized){NO_BLOCK, BINS, 0};
    return (struct sized){index->bins[bin], bin, (uint64_t)bin << index->granule};
}

const char *size_index_check(const struct size_index *index, uint64_t blocks);

#endif
