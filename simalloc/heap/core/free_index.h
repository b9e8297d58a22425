/* An ordered sequence of free blocks that finds the first one large enough.
 *
 * Every fit is a first fit over some order: address-ordered first fit over addresses, LIFO and
 * FIFO over the time a block entered, best fit over sizes. So one structure serves them all: a
 * B+ tree whose inner entries know the largest block, the last key and the number of blocks below
 * them. With few free blocks it is one flat array; no operation is worse than O(log n).
 *
 * The order is the caller's: by key, by (size, key), or by position (insertion at a cursor); keys
 * are kept only if `keyed`, the same in all calls. */
#ifndef SIMALLOC_FREE_INDEX_H
#define SIMALLOC_FREE_INDEX_H

#include "node.h"

struct free_index {
    struct heap *heap;
    struct node *nodes;
    uint32_t capacity;
    uint32_t used;
    uint32_t unused; /* chain of nodes given back */
    uint32_t root;
    uint32_t blocks; /* in the index */
};

/* An entry of a leaf; node is NO_NODE when there is none. */
struct cursor {
    uint32_t node;
    uint32_t entry;
};

/* The most nodes that one event may create: a few insertions, each splitting one path. */
enum { SPARE_NODES = 1024 };

bool free_index_init(struct free_index *index, struct heap *heap);
void free_index_release(struct free_index *index);
bool free_index_grow_table(struct free_index *index);
/* What the caller keeps the blocks ordered by. */
enum index_order { INDEX_BY_POSITION, INDEX_BY_KEY, INDEX_BY_SIZE };

const char *free_index_check(const struct free_index *index, enum index_order order);

/* The parts of insertion and removal that change the tree's shape. */
struct cursor free_index_split(struct free_index *index, struct cursor at);
void free_index_rebalance(struct free_index *index, uint32_t node);

ALWAYS_INLINE bool free_index_reserve(struct free_index *index)
{
    return LIKELY(index->capacity - index->used >= SPARE_NODES) || free_index_grow_table(index);
}

ALWAYS_INLINE bool found(struct cursor at)
{
    return at.node != NO_NODE;
}

ALWAYS_INLINE uint32_t block_at(const struct free_index *index, struct cursor at)
{
    return index->nodes[at.node].item[at.entry];
}

/* Goes down from an entry to the first block below it with at least `size` bytes; there is one. */
ALWAYS_INLINE struct cursor descend(const struct free_index *index, uint32_t id, uint32_t entry,
                                    uint64_t size)
{
    const struct node *node = &index->nodes[id];
    while (!node->leaf) {
        id = node->item[entry];
        node = &index->nodes[id];
        entry = node_first(node, 0, size);
    }
    return (struct cursor){id, entry};
}

/* The first block in order with at least `size` bytes. */
ALWAYS_INLINE struct cursor free_index_first(const struct free_index *index, uint64_t size)
{
    const struct node *root = &index->nodes[index->root];
    uint32_t entry = node_first(root, 0, size);
    if (entry == root->count)
        return (struct cursor){NO_NODE, 0};
    return descend(index, index->root, entry, size);
}

/* The last block in order with at least `size` bytes. */
ALWAYS_INLINE struct cursor free_index_last(const struct free_index *index, uint64_t size)
{
    uint32_t id = index->root;
    for (;;) {
        const struct node *node = &index->nodes[id];
        uint32_t entry = node_last(node, size);
        if (entry == NODE_CAPACITY)
            return (struct cursor){NO_NODE, 0};
        if (node->leaf)
            return (struct cursor){id, entry};
        id = node->item[entry];
    }
}

/* The first block at or after a cursor with at least `size` bytes. */
ALWAYS_INLINE struct cursor free_index_first_from(const struct free_index *index,
                                                  struct cursor from, uint64_t size)
{
    uint32_t id = from.node;
    uint32_t entry = from.entry;
    for (;;) {
        const struct node *node = &index->nodes[id];
        entry = node_first(node, entry, size);
        if (entry < node->count)
            return descend(index, id, entry, size);
        if (node->parent == NO_NODE)
            return (struct cursor){NO_NODE, 0};
        entry = node->place + 1u;
        id = node->parent;
    }
}

/* Where a block of the index stands. */
ALWAYS_INLINE struct cursor free_index_locate(const struct free_index *index, uint32_t block)
{
    uint32_t id = index->heap->blocks[block].home;
    return (struct cursor){id, node_find(&index->nodes[id], block)};
}

/* The block after a cursor in order, the first after the last. */
ALWAYS_INLINE uint32_t free_index_following(const struct free_index *index, struct cursor at)
{
    at.entry++;
    if (at.entry == index->nodes[at.node].count) {
        at = free_index_first_from(index, at, 0);
        if (!found(at))
            at = free_index_first(index, 0);
    }
    return block_at(index, at);
}

/* How many blocks stand before a cursor. */
ALWAYS_INLINE uint64_t free_index_rank(const struct free_index *index, struct cursor at)
{
    uint64_t rank = at.entry;
    const struct node *node = &index->nodes[at.node];
    while (node->parent != NO_NODE) {
        const struct node *parent = &index->nodes[node->parent];
        rank += node_weight_before(parent, node->place);
        node = parent;
    }
    return rank;
}

/* How many entries come before (size, key), in a node ordered so. */
ALWAYS_INLINE uint32_t size_rank(const struct node *node, uint64_t size, uint64_t key)
{
    uint32_t rank = 0;
    while (rank < node->count &&
           (node->size[rank] < size || (node->size[rank] == size && node->key[rank] < key)))
        rank++;
    return rank;
}

/* How many blocks stand between two cursors; negative if `to` comes first. */
ALWAYS_INLINE int64_t free_index_distance(const struct free_index *index, struct cursor from,
                                          struct cursor to)
{
    if (LIKELY(from.node == to.node))
        return (int64_t)to.entry - (int64_t)from.entry;
    return (int64_t)free_index_rank(index, to) - (int64_t)free_index_rank(index, from);
}

/* Where a block with this key belongs in an index ordered by key, or by (size, key).
 * The entry may be one past the leaf's last. */
ALWAYS_INLINE struct cursor free_index_position(const struct free_index *index, bool by_size,
                                                uint64_t size, uint64_t key)
{
    uint32_t id = index->root;
    for (;;) {
        const struct node *node = &index->nodes[id];
        uint32_t entry = by_size ? size_rank(node, size, key) : node_rank(node, key);
        if (node->leaf)
            return (struct cursor){id, entry};
        id = node->item[entry == node->count ? entry - 1 : entry];
    }
}

ALWAYS_INLINE struct cursor free_index_front(const struct free_index *index)
{
    return descend(index, index->root, 0, 0);
}

/* One past the last block. */
ALWAYS_INLINE struct cursor free_index_back(const struct free_index *index)
{
    uint32_t id = index->root;
    while (!index->nodes[id].leaf)
        id = index->nodes[id].item[index->nodes[id].count - 1];
    return (struct cursor){id, index->nodes[id].count};
}

/* Tells the nodes above a leaf that a size has gone from it and another has come (0: none), and
 * by how many blocks it has grown. */
ALWAYS_INLINE void free_index_tell(struct free_index *index, const struct node *node, uint64_t gone,
                                   uint64_t come, uint32_t grown, bool keyed)
{
    while (node->parent != NO_NODE) {
        struct node *parent = &index->nodes[node->parent];
        uint64_t known = parent->size[node->place];
        uint64_t largest = come >= known ? come : gone == known ? node_largest(node) : known;
        parent->size[node->place] = largest;
        parent->weight[node->place] += grown;
        if (keyed && LIKELY(node->count > 0))
            parent->key[node->place] = node->key[node->count - 1];
        gone = known;
        come = largest;
        node = parent;
    }
}

/* Puts a block before a cursor (or at the end of the cursor's leaf). */
ALWAYS_INLINE void free_index_insert(struct free_index *index, struct cursor at, uint32_t block,
                                     uint64_t size, uint64_t key, bool keyed)
{
    if (UNLIKELY(index->nodes[at.node].count == NODE_CAPACITY))
        at = free_index_split(index, at);
    struct node *leaf = &index->nodes[at.node];
    leaf_open(leaf, at.entry, size, key, block, keyed);
    index->blocks++;
    index->heap->blocks[block].home = at.node;
    free_index_tell(index, leaf, 0, size, 1, keyed);
}

ALWAYS_INLINE void free_index_remove(struct free_index *index, struct cursor at, bool keyed)
{
    struct node *leaf = &index->nodes[at.node];
    uint64_t size = leaf->size[at.entry];
    index->heap->blocks[leaf->item[at.entry]].home = HOME_ALLOCATED;
    leaf_close(leaf, at.entry, keyed);
    index->blocks--;
    free_index_tell(index, leaf, size, 0, UINT32_MAX, keyed); /* one fewer */
    if (UNLIKELY(leaf->count < NODE_CAPACITY / 4) && leaf->parent != NO_NODE)
        free_index_rebalance(index, at.node);
}

/* Changes size and key of a block that keeps its place in the order. */
ALWAYS_INLINE void free_index_change(struct free_index *index, struct cursor at, uint64_t size,
                                     uint64_t key, bool keyed)
{
    struct node *leaf = &index->nodes[at.node];
    uint64_t gone = leaf->size[at.entry];
    leaf->size[at.entry] = size;
    if (keyed)
        leaf->key[at.entry] = key;
    free_index_tell(index, leaf, gone, size, 0, keyed);
}

#endif
