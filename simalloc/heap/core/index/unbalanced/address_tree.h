/* A binary search tree of free blocks by address, whose shape is the rule: it is never balanced by
 * itself (simalloc/policy/families/address_trees.md).
 *
 * A node has the id of its block, and knows the largest size on both sides of it. Operations take
 * time in proportion to the depth of the tree, and count the nodes that a search visits. Best fit
 * would search most of the tree; it uses `sizes` instead, which are kept for best fit only. */
#ifndef SIMALLOC_ADDRESS_TREE_H
#define SIMALLOC_ADDRESS_TREE_H

#include "index/unbalanced/tree_sizes.h"

struct address_node {
    uint32_t parent; /* or NO_BLOCK, as the two below */
    uint32_t left;
    uint32_t right;
    uint64_t max_left; /* the largest size in the left subtree; 0: it is empty */
    uint64_t max_right;
};

/* The nodes of several trees, by block id. */
struct address_nodes {
    struct address_node *nodes;
    uint32_t capacity;
};

/* A tree, and where its nodes and their blocks are. */
struct address_tree {
    uint32_t *root; /* NO_BLOCK: it is empty */
    struct address_node *nodes;
    const struct block *blocks;
    struct tree_sizes sizes; /* all zero: nobody asks for the best fit */
};

/* Result of a search: a node or NO_BLOCK, and the number of visited nodes. */
struct searched {
    uint32_t node;
    uint64_t visited;
};

/* Makes sure that there is a node for every block; false when memory is exhausted. */
bool address_nodes_reserve(struct address_nodes *nodes, uint32_t capacity);
void address_nodes_release(struct address_nodes *nodes);

/* Each returns a node of at least `size` bytes: the lowest, the result of better fit, and the
 * smallest. */
struct searched address_tree_first(const struct address_tree *tree, uint64_t size);
struct searched address_tree_better(const struct address_tree *tree, uint64_t size);
struct searched address_tree_best(const struct address_tree *tree, uint64_t size);

/* Makes a block a new leaf and returns NO_BLOCK; or, if it `meets` neighbours, the first node on the
 * way that lies directly beside it, which is all that happens then. */
struct searched address_tree_insert(const struct address_tree *tree, uint32_t id, bool meets);

void address_tree_delete(const struct address_tree *tree, uint32_t id);

/* Brings the largest sizes up to date after the size of a node has changed. */
void address_tree_resized(const struct address_tree *tree, uint32_t id);

/* Makes the tree anew, of the same nodes: of k the root has k / 2 below it, and so on. */
void address_tree_rebalance(const struct address_tree *tree);

/* Returns a description of the first fault in a tree, or NULL, and adds its nodes to `count`. */
const char *address_tree_check(const struct address_tree *tree, uint64_t *count);

#endif
