/* B+ tree of free blocks by (size, key), for the few blocks that have no bin. */
#ifndef SIMALLOC_SIZE_TREE_H
#define SIMALLOC_SIZE_TREE_H

#include "space/heap.h"

enum { TREE_CAPACITY = 32 };

struct tree_node {
    /* Entries. An item is a block in a leaf, and a child in an inner node. An entry has the size
     * and key of its block or, for a child, of the last block below the child. */
    uint64_t size[TREE_CAPACITY];
    uint64_t key[TREE_CAPACITY];
    uint32_t item[TREE_CAPACITY];
    /* Parent node; NO_NODE for the root; the next unused node if the node is unused. */
    uint32_t parent;
    uint32_t place;  /* index of the node's entry in its parent */
    uint32_t count;  /* number of entries; 0 only in an empty root */
    bool leaf;
};

struct size_tree {
    struct heap *heap; /* `index_slot` of a block in the tree is the number of its leaf */
    struct tree_node *nodes;
    uint32_t capacity;
    uint32_t used;
    uint32_t unused; /* head of the list of unused nodes, or NO_NODE */
    uint32_t root;
    uint32_t blocks;
};

/* Maximum number of nodes that a batch of events creates. An event inserts at most three blocks,
 * each into another full leaf below another full node. Splits of nodes above that level are
 * rare. */
enum { TREE_SPARE = 8 * BATCH };

bool size_tree_init(struct size_tree *tree, struct heap *heap);
void size_tree_release(struct size_tree *tree);
bool size_tree_grow_table(struct size_tree *tree);
const char *size_tree_check(const struct size_tree *tree);

void size_tree_insert(struct size_tree *tree, uint32_t block, uint64_t key);
/* Removes a block and returns its key. */
uint64_t size_tree_remove(struct size_tree *tree, uint32_t block);
/* Updates a block that has become smaller. Its key is its address if `by_address` is set, otherwise
 * its old key. */
void size_tree_shrink(struct size_tree *tree, uint32_t block, bool by_address);
/* Returns the smallest block with at least `size` bytes, the one with the lowest key among equals,
 * or NO_BLOCK. */
uint32_t size_tree_best(const struct size_tree *tree, uint64_t size);
/* Returns the largest block, the one with the lowest key among equals. The tree must not be
 * empty. */
uint32_t size_tree_largest(const struct size_tree *tree);

ALWAYS_INLINE bool size_tree_reserve(struct size_tree *tree)
{
    return LIKELY(tree->capacity - tree->used >= TREE_SPARE) || size_tree_grow_table(tree);
}

#endif
