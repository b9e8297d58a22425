/* An ordered sequence of free blocks that finds the first one large enough.
 *
 * Every fit is a first fit over some order: address-ordered first fit over addresses, LIFO and
 * FIFO over the time a block entered, best fit over sizes. So one structure serves them all: a
 * B+ tree whose inner entries know the largest block, the last key and the number of blocks below
 * them. With few free blocks it is one flat array; no operation is worse than O(log n).
 *
 * The order is the caller's: by key, by (size, key), or by position (insertion at a cursor). */
#ifndef SIMALLOC_FREE_INDEX_H
#define SIMALLOC_FREE_INDEX_H

#include "heap.h"

enum { NODE_CAPACITY = 32 };
#define NO_NODE UINT32_MAX

struct node {
    /* In a leaf entry i is a block: its size, its key, its id. In an inner node it is a child: the
     * largest size below it, the key of its last block, its number, the blocks below it. */
    uint64_t size[NODE_CAPACITY];
    uint64_t key[NODE_CAPACITY];
    uint32_t item[NODE_CAPACITY];
    uint32_t weight[NODE_CAPACITY]; /* not used in a leaf */
    uint32_t parent;                /* NO_NODE in the root; while unused, the next unused node */
    uint16_t place;                 /* this node's entry in its parent */
    uint8_t count;                  /* entries 0 .. count-1; 0 only in an empty root */
    bool leaf;
};

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

/* Passes a leaf's new maximum, last key and weight on to the inner nodes above it. */
void free_index_refresh(struct free_index *index, uint32_t node);

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

/* The first of entries from .. count-1 with at least `size` bytes, or count. */
ALWAYS_INLINE uint32_t first_at_least(const struct node *node, uint32_t from, uint64_t size)
{
    uint32_t i = from;
    while (i < node->count && node->size[i] < size)
        i++;
    return i;
}

/* Goes down from an entry to the first block below it with at least `size` bytes; there is one. */
ALWAYS_INLINE struct cursor descend(const struct free_index *index, uint32_t id, uint32_t entry,
                                    uint64_t size)
{
    const struct node *node = &index->nodes[id];
    while (!node->leaf) {
        id = node->item[entry];
        node = &index->nodes[id];
        entry = first_at_least(node, 0, size);
    }
    return (struct cursor){id, entry};
}

/* The first block in order with at least `size` bytes. */
ALWAYS_INLINE struct cursor free_index_first(const struct free_index *index, uint64_t size)
{
    const struct node *root = &index->nodes[index->root];
    uint32_t entry = first_at_least(root, 0, size);
    if (entry == root->count)
        return (struct cursor){NO_NODE, 0};
    return descend(index, index->root, entry, size);
}

/* The first block at or after a cursor with at least `size` bytes. */
ALWAYS_INLINE struct cursor free_index_first_from(const struct free_index *index,
                                                  struct cursor from, uint64_t size)
{
    uint32_t id = from.node;
    uint32_t entry = from.entry;
    for (;;) {
        const struct node *node = &index->nodes[id];
        entry = first_at_least(node, entry, size);
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
    const struct node *node = &index->nodes[id];
    uint32_t entry = 0;
    while (node->item[entry] != block)
        entry++;
    return (struct cursor){id, entry};
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
        for (uint32_t i = 0; i < node->place; i++)
            rank += parent->weight[i];
        node = parent;
    }
    return rank;
}

/* Where a block with this key belongs in an index ordered by key, or by (size, key).
 * The entry may be one past the leaf's last. */
ALWAYS_INLINE struct cursor free_index_position(const struct free_index *index, bool by_size,
                                                uint64_t size, uint64_t key)
{
    uint32_t id = index->root;
    for (;;) {
        const struct node *node = &index->nodes[id];
        uint32_t entry = 0;
        if (by_size)
            while (entry < node->count &&
                   (node->size[entry] < size ||
                    (node->size[entry] == size && node->key[entry] < key)))
                entry++;
        else
            while (entry < node->count && node->key[entry] < key)
                entry++;
        if (node->leaf)
            return (struct cursor){id, entry};
        id = node->item[entry == node->count ? entry - 1 : entry];
    }
}

ALWAYS_INLINE struct cursor free_index_front(const struct free_index *index)
{
    return descend(index, index->root, 0, 0);
}

/* Puts a block before a cursor (or at the end of the cursor's leaf). */
ALWAYS_INLINE void free_index_insert(struct free_index *index, struct cursor at, uint32_t block,
                                     uint64_t size, uint64_t key)
{
    if (UNLIKELY(index->nodes[at.node].count == NODE_CAPACITY))
        at = free_index_split(index, at);
    struct node *leaf = &index->nodes[at.node];
    for (uint32_t i = leaf->count; i > at.entry; i--) {
        leaf->size[i] = leaf->size[i - 1];
        leaf->key[i] = leaf->key[i - 1];
        leaf->item[i] = leaf->item[i - 1];
    }
    leaf->size[at.entry] = size;
    leaf->key[at.entry] = key;
    leaf->item[at.entry] = block;
    leaf->count++;
    index->blocks++;
    index->heap->blocks[block].home = at.node;
    if (leaf->parent != NO_NODE)
        free_index_refresh(index, at.node);
}

ALWAYS_INLINE void free_index_remove(struct free_index *index, struct cursor at)
{
    struct node *leaf = &index->nodes[at.node];
    index->heap->blocks[leaf->item[at.entry]].home = HOME_ALLOCATED;
    leaf->count--;
    for (uint32_t i = at.entry; i < leaf->count; i++) {
        leaf->size[i] = leaf->size[i + 1];
        leaf->key[i] = leaf->key[i + 1];
        leaf->item[i] = leaf->item[i + 1];
    }
    index->blocks--;
    if (leaf->parent != NO_NODE) {
        free_index_refresh(index, at.node);
        if (UNLIKELY(leaf->count < NODE_CAPACITY / 4))
            free_index_rebalance(index, at.node);
    }
}

/* Changes size and key of a block that keeps its place in the order. */
ALWAYS_INLINE void free_index_change(struct free_index *index, struct cursor at, uint64_t size,
                                     uint64_t key)
{
    struct node *leaf = &index->nodes[at.node];
    leaf->size[at.entry] = size;
    leaf->key[at.entry] = key;
    if (leaf->parent != NO_NODE)
        free_index_refresh(index, at.node);
}

#endif
