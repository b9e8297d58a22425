/* Free blocks by size, and among equals by key: the index of best fit.
 *
 * Sizes below 16,384 granules have a bin each; the few larger blocks are in a tree. A
 * granule is the largest power of two that all block sizes are multiples of. */
#ifndef SIMALLOC_SIZE_INDEX_H
#define SIMALLOC_SIZE_INDEX_H

#include "bin_set.h"
#include "size_tree.h"

struct size_index {
    unsigned granule; /* log2 of the bytes in one */
    struct bin_set bins;
    struct size_tree large;
};

/* The largest power of two in `unit` divides all sizes of blocks. */
ALWAYS_INLINE bool size_index_init(struct size_index *index, struct heap *heap, uint64_t unit)
{
    index->granule = (unsigned)__builtin_ctzll(unit);
    bin_set_init(&index->bins, heap);
    return size_tree_init(&index->large, heap);
}

ALWAYS_INLINE void size_index_release(struct size_index *index)
{
    bin_set_release(&index->bins);
    size_tree_release(&index->large);
}

ALWAYS_INLINE bool size_index_reserve(struct size_index *index)
{
    return bin_set_reserve(&index->bins) && size_tree_reserve(&index->large);
}

ALWAYS_INLINE bool is_large(const struct size_index *index, uint64_t size)
{
    return UNLIKELY(size >> index->granule >= BINS);
}

/* A block that was found, and its size, which is known before the block has been looked at. */
struct sized {
    uint32_t block;
    uint64_t size;
};

ALWAYS_INLINE void size_index_insert(struct size_index *index, uint32_t block, uint64_t size,
                                     uint64_t key)
{
    if (is_large(index, size))
        size_tree_insert(&index->large, block, key);
    else
        bin_set_insert(&index->bins, (uint32_t)(size >> index->granule), block, key);
}

/* Takes a block out and answers its key. */
ALWAYS_INLINE uint64_t size_index_remove(struct size_index *index, uint32_t block, uint64_t size)
{
    if (is_large(index, size))
        return size_tree_remove(&index->large, block);
    uint64_t key = index->bins.links[block].key;
    bin_set_remove(&index->bins, (uint32_t)(size >> index->granule), block);
    return key;
}

/* The smallest block with at least `size` bytes, of equals the one with the lowest key. */
ALWAYS_INLINE struct sized size_index_best(const struct size_index *index, uint64_t size)
{
    if (!is_large(index, size)) {
        uint32_t bin = bin_set_from(&index->bins, (uint32_t)(size >> index->granule));
        if (LIKELY(bin < BINS))
            return (struct sized){index->bins.bins[bin].first, (uint64_t)bin << index->granule};
    }
    uint32_t block = size_tree_best(&index->large, size);
    return (struct sized){block, block == NO_BLOCK ? 0 : index->bins.heap->blocks[block].size};
}

const char *size_index_check(const struct size_index *index, uint64_t blocks);

#endif
