/* Free blocks in the order of a list. A search returns a block with its rank, the number of blocks
 * that a walk of the list passes before it.
 *
 * The structure is a treap: it is ordered by key and balanced by a hash of the block's id. Each
 * node stores the number of nodes in its subtree. All operations take O(log n) time, on average
 * over the hash. */
#ifndef SIMALLOC_TREAP_H
#define SIMALLOC_TREAP_H

#include "space/heap.h"

/* Sort key of a list: ascending by `major`, then by `minor`. */
struct treap_key {
    uint64_t major;
    uint64_t minor;
};

struct treap_node {
    struct treap_key key;
    uint32_t count; /* number of nodes in the subtree */
    uint32_t parent; /* parent node, or NO_BLOCK; the children may be NO_BLOCK too */
    uint32_t left;
    uint32_t right;
};

/* Nodes of several lists, by block id. */
struct treap_nodes {
    struct treap_node *nodes;
    uint32_t capacity;
};

/* A list with the tables of its nodes and blocks. */
struct treap {
    uint32_t *root; /* node of the root, or NO_BLOCK in an empty list */
    struct treap_node *nodes;
    const struct block *blocks;
};

/* A block with the number of blocks before it. NO_BLOCK has the number of all blocks. */
struct treap_place {
    uint32_t block;
    uint64_t rank;
};

/* Ensures a node for each block of a block table with this capacity. Returns false if memory is
 * exhausted. */
bool treap_nodes_reserve(struct treap_nodes *nodes, uint32_t capacity);
void treap_nodes_release(struct treap_nodes *nodes);

/* Returns the first block whose key is at least `key`. */
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
