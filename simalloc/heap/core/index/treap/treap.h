/* Free blocks in the order of a list, each found with its rank: how many a walk of that list would
 * have passed before it.
 *
 * A treap: ordered by key, balanced by a hash of the block's id. A node knows how many nodes are in
 * its subtree. All operations take O(log n), on average over the hash. */
#ifndef SIMALLOC_TREAP_H
#define SIMALLOC_TREAP_H

#include "space/heap.h"

/* Sort key of a list: by major, then by minor, ascending. */
struct treap_key {
    uint64_t major;
    uint64_t minor;
};

struct treap_node {
    struct treap_key key;
    uint32_t count; /* number of nodes in the subtree */
    uint32_t parent; /* or NO_BLOCK, as the two below */
    uint32_t left;
    uint32_t right;
};

/* The nodes of several lists, by block id. */
struct treap_nodes {
    struct treap_node *nodes;
    uint32_t capacity;
};

/* A list, and where its nodes and their blocks are. */
struct treap {
    uint32_t *root; /* NO_BLOCK: it is empty */
    struct treap_node *nodes;
    const struct block *blocks;
};

/* A block of a list, or NO_BLOCK, and how many stand before it: of NO_BLOCK, all. */
struct treap_place {
    uint32_t block;
    uint64_t rank;
};

/* Makes sure that there is a node for every block; false when memory is exhausted. */
bool treap_nodes_reserve(struct treap_nodes *nodes, uint32_t capacity);
void treap_nodes_release(struct treap_nodes *nodes);

/* The first block whose key is not below one. */
struct treap_place treap_from(const struct treap *tree, struct treap_key key);

/* Returns the last block with a smaller key, or NO_BLOCK. */
uint32_t treap_before(const struct treap *tree, struct treap_key key);

void treap_insert(const struct treap *tree, uint32_t id, struct treap_key key);
void treap_remove(const struct treap *tree, uint32_t id);

ALWAYS_INLINE uint64_t treap_count(const struct treap *tree)
{
    return *tree->root == NO_BLOCK ? 0 : tree->nodes[*tree->root].count;
}

/* Returns a description of the first fault in a list, or NULL. */
const char *treap_check(const struct treap *tree);

#endif
