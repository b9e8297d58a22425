/* Free blocks in the order of (size, key): a B+ tree, for the few blocks that are in no bin. */
#ifndef SIMALLOC_SIZE_TREE_H
#define SIMALLOC_SIZE_TREE_H

#include "space/heap.h"

enum { TREE_CAPACITY = 32 };

struct tree_node {
    /* In a leaf entry i is a block, in an inner node a child: the size and the key of the block, or
     * of the last block below the child, and its number. */
    uint64_t size[TREE_CAPACITY];
    uint64_t key[TREE_CAPACITY];
    uint32_t item[TREE_CAPACITY];
    uint32_t parent; /* NO_NODE in the root; while unused, the next unused node */
    uint32_t place;  /* this node's entry in its parent */
    uint32_t count;  /* entries 0 .. count-1; 0 only in an empty root */
    bool leaf;
};

struct size_tree {
    struct heap *heap; /* the index_slot of a block of the tree is the number of its leaf */
    struct tree_node *nodes;
    uint32_t capacity;
    uint32_t used;
    uint32_t unused; /* head of the chain of unused nodes */
    uint32_t root;
    uint32_t blocks; /* number of blocks in the tree */
};

/* The most nodes that a batch of events may create: an event inserts at most three blocks, each into
 * another full leaf below another full node; of the levels above few nodes are split. */
enum { TREE_SPARE = 8 * BATCH };

bool size_tree_init(struct size_tree *tree, struct heap *heap);
void size_tree_release(struct size_tree *tree);
bool size_tree_grow_table(struct size_tree *tree);
const char *size_tree_check(const struct size_tree *tree);

void size_tree_insert(struct size_tree *tree, uint32_t block, uint64_t key);
/* Takes a block out and returns its key. */
uint64_t size_tree_remove(struct size_tree *tree, uint32_t block);
/* Notes that a block has become smaller; its key is its address, or the one that it had. */
void size_tree_shrink(struct size_tree *tree, uint32_t block, bool by_address);
/* The smallest block with at least `size` bytes, of equals that with the lowest key; NO_BLOCK. */
uint32_t size_tree_best(const struct size_tree *tree, uint64_t size);
/* The largest block, of equals the one with the lowest key; the tree must not be empty. */
uint32_t size_tree_largest(const struct size_tree *tree);

ALWAYS_INLINE bool size_tree_reserve(struct size_tree *tree)
{
    return LIKELY(tree->capacity - tree->used >= TREE_SPARE) || size_tree_grow_table(tree);
}

#endif
