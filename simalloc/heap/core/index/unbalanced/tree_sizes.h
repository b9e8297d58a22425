/* What best fit asks of an address-ordered tree, found without going through the tree: which block
 * is the smallest that fits, and how many nodes a search would look at.
 *
 * The search looks at every node that it reaches through subtrees with a block of the size. The
 * largest size of a subtree is never above that of one around it, so those are all nodes whose own
 * subtree has such a block. The nodes therefore stand in two more orders, in which ranks are found in
 * O(log n): by the size of their block, and by the largest size from the node down. */
#ifndef SIMALLOC_TREE_SIZES_H
#define SIMALLOC_TREE_SIZES_H

#include "index/treap/treap.h"

/* The nodes of several trees in both orders, by block id. */
struct tree_sizes_nodes {
    struct treap_nodes by_size;
    struct treap_nodes by_largest;
};

/* Of one tree; the roots are NO_BLOCK while it is empty. */
struct tree_sizes_roots {
    uint32_t by_size;
    uint32_t by_largest;
};

struct tree_sizes {
    struct treap by_size;    /* by size, and by address among equals */
    struct treap by_largest;
};

/* Makes sure that there is a node for every block; false when memory is exhausted. */
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

/* A node enters, leaves, or has got another block; `largest` is the largest size from it down. */
void tree_sizes_enter(const struct tree_sizes *sizes, uint32_t id, uint64_t largest);
void tree_sizes_leave(const struct tree_sizes *sizes, uint32_t id);
void tree_sizes_resized(const struct tree_sizes *sizes, uint32_t id);

/* Notes what is the largest size from a node down. */
void tree_sizes_note(const struct tree_sizes *sizes, uint32_t id, uint64_t largest);

/* The smallest block of at least `size`, of equals that with the lowest address, or NO_BLOCK; and
 * how many nodes a search looks at, which begins at the root whatever it has. */
struct treap_place tree_sizes_best(const struct tree_sizes *sizes, uint64_t size);

/* Whether a node stands in both orders where it belongs. */
bool tree_sizes_has(const struct tree_sizes *sizes, uint32_t id, uint64_t largest);

/* Returns what is wrong with the orders of a tree of this many nodes, or NULL. */
const char *tree_sizes_check(const struct tree_sizes *sizes, uint64_t count);

#endif
