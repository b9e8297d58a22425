/* Blocks in the order of stream, size and address, or of stream and address: a treap. */
#ifndef SIMALLOC_DEVICE_TREE_H
#define SIMALLOC_DEVICE_TREE_H

#include "blocks.h"

struct place {
    uint64_t size;
    uint64_t address;
    uint32_t stream;
};

struct tree {
    uint32_t root;
    uint32_t count;
    bool by_address; /* sizes do not count */
};

void tree_insert(struct tree *tree, struct blocks *blocks, uint32_t id);
void tree_remove(struct tree *tree, struct blocks *blocks, uint32_t id);

/* The first block that is not before the place, or NO_BLOCK. */
uint32_t tree_first(const struct tree *tree, const struct blocks *blocks, struct place place);
/* The last block before the place, or NO_BLOCK. */
uint32_t tree_last_before(const struct tree *tree, const struct blocks *blocks,
                          struct place place);

struct place tree_place(const struct blocks *blocks, uint32_t id);
/* The block behind one that is in the tree, or NO_BLOCK. */
uint32_t tree_next(const struct tree *tree, const struct blocks *blocks, uint32_t id);

/* All blocks in order, in memory that the caller frees; NULL when memory is exhausted. */
uint32_t *tree_list(const struct tree *tree, const struct blocks *blocks);

#endif
