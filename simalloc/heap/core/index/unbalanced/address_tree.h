/* Binary search tree of free blocks by address. Its shape is part of the policy, so the tree is
 * balanced only when the policy demands it (simalloc/policy/families/address_trees.md).
 *
 * A node has the id of its block and stores the largest size on both sides. Operations take time in
 * proportion to the depth of the tree, and count the nodes that a search visits. A search for best
 * fit would visit most of the tree. It uses `sizes` instead, which are kept only for best fit. */
#ifndef SIMALLOC_ADDRESS_TREE_H
#define SIMALLOC_ADDRESS_TREE_H

#include "index/unbalanced/tree_sizes.h"

struct address_node {
    uint32_t parent; /* parent node, or NO_BLOCK; the children may be NO_BLOCK too */
    uint32_t left;
    uint32_t right;
    uint64_t max_left; /* largest size in the left subtree, or 0 if it is empty */
    uint64_t max_right;
};

/* Nodes of several trees, by block id. */
struct address_nodes {
    struct address_node *nodes;
    uint32_t capacity;
};

/* A tree with the tables of its nodes and blocks. */
struct address_tree {
    uint32_t *root; /* node of the root, or NO_BLOCK in an empty tree */
    struct address_node *nodes;
    const struct block *blocks;
    struct tree_sizes sizes; /* orders for best fit; all zero in trees for other fits */
};

/* Result of a search: a node or NO_BLOCK, and the number of visited nodes. */
struct searched {
    uint32_t node;
    uint64_t visited;
};

/* Ensures a node for each block of a block table with this capacity. Returns false if memory is
 * exhausted. */
bool address_nodes_reserve(struct address_nodes *nodes, uint32_t capacity);
void address_nodes_release(struct address_nodes *nodes);

/* Return a node with at least `size` bytes: the lowest node, the node that better fit chooses, or
 * the smallest node. */
struct searched address_tree_first(const struct address_tree *tree, uint64_t size);
struct searched address_tree_better(const struct address_tree *tree, uint64_t size);
struct searched address_tree_best(const struct address_tree *tree, uint64_t size);

/* Inserts a block as a leaf and returns NO_BLOCK. If `meets` is set and a node on the way is a
 * direct neighbour of the block, returns that node and inserts nothing. */
struct searched address_tree_insert(const struct address_tree *tree, uint32_t id, bool meets);

void address_tree_delete(const struct address_tree *tree, uint32_t id);

/* Updates the largest sizes after the size of a node has changed. */
void address_tree_resized(const struct address_tree *tree, uint32_t id);

/* Rebuilds the tree from the same nodes. In each subtree of k nodes, k / 2 nodes are below the root
 * on the left. */
void address_tree_rebalance(const struct address_tree *tree);

/* Returns a description of the first fault in a tree, or NULL. Adds the number of its nodes to
 * `count`. */
const char *address_tree_check(const struct address_tree *tree, uint64_t *count);

#endif
