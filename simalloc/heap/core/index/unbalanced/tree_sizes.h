/* Best fit in an address-ordered tree without a search of the tree. Finds the smallest block that
 * fits, and the number of nodes that a search would visit.
 *
 * A search visits every node that it reaches through subtrees with a large enough block. A subtree
 * contains all blocks of the subtrees within it. The search therefore visits exactly the nodes
 * whose own subtree has a large enough block. The nodes are kept in two more orders, in which ranks
 * are found in O(log n): by the size of their block, and by the largest size of their subtree. */
#ifndef SIMALLOC_TREE_SIZES_H
#define SIMALLOC_TREE_SIZES_H

#include "index/treap/treap.h"

/* Nodes of several trees in both orders, by block id. */
struct tree_sizes_nodes {
    struct treap_nodes by_size;
    struct treap_nodes by_largest;
};

/* Roots of one tree's orders, or NO_BLOCK in an empty tree. */
struct tree_sizes_roots {
    uint32_t by_size;
    uint32_t by_largest;
};

struct tree_sizes {
    struct treap by_size;    /* by size and, for equal sizes, by address */
    struct treap by_largest;
};

/* Ensures a node for each block of a block table with this capacity. Returns false if memory is
 * exhausted. */
bool tree_sizes_reserve(struct tree_sizes_nodes *nodes, uint32_t capacity);
void tree_sizes_release(struct tree_sizes_nodes *nodes);

ALWAYS_INLINE struct tree_sizes tree_sizes_of(struct tree_sizes_roots *roots,
                                              const struct tree_sizes_nodes *nodes,
                                              const struct block *blocks)
{
    return (struct tree_sizes){
        {&roots->by_size, nodes->by_size.nodes, blocks},
        {&roots->by_largest, nodes->by_largest.nodes, blocks},
    };
}

/* Insert, remove or move the node of a block that enters, leaves or changes its size. `largest` is
 * the largest size of its subtree. */
void tree_sizes_enter(const struct tree_sizes *sizes, uint32_t id, uint64_t largest);
void tree_sizes_leave(const struct tree_sizes *sizes, uint32_t id);
void tree_sizes_resized(const struct tree_sizes *sizes, uint32_t id);

/* Stores the largest size of a node's subtree. */
void tree_sizes_note(const struct tree_sizes *sizes, uint32_t id, uint64_t largest);

/* Returns the smallest block with at least `size` bytes, the lowest among equals, or NO_BLOCK,
 * together with the number of nodes that a search visits. A search always visits the root. */
struct treap_place tree_sizes_best(const struct tree_sizes *sizes, uint64_t size);

/* Returns whether a node is at its place in both orders. */
bool tree_sizes_has(const struct tree_sizes *sizes, uint32_t id, uint64_t largest);

/* Returns a description of the first fault in the orders of a tree of `count` nodes, or NULL. */
const char *tree_sizes_check(const struct tree_sizes *sizes, uint64_t count);

#endif
