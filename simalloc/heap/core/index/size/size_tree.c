#include "index/size/size_tree.h"

#include <string.h>

#include "space/table.h"

#define NO_NODE UINT32_MAX

bool size_tree_grow_table(struct size_tree *tree)
{
    return table_grow(&tree->nodes, sizeof *tree->nodes, tree->used, TREE_SPARE, STATE_FREE,
                      &tree->capacity);
}

static uint32_t new_node(struct size_tree *tree, bool leaf)
{
    uint32_t id = tree->unused;
    if (id == NO_NODE)
        id = tree->used++;
    else
        tree->unused = tree->nodes[id].parent;
    tree->nodes[id].parent = NO_NODE;
    tree->nodes[id].place = 0;
    tree->nodes[id].count = 0;
    tree->nodes[id].leaf = leaf;
    return id;
}

static void drop_node(struct size_tree *tree, uint32_t id)
{
    tree->nodes[id].parent = tree->unused;
    tree->unused = id;
}

bool size_tree_init(struct size_tree *tree, struct heap *heap)
{
    *tree = (struct size_tree){.heap = heap, .unused = NO_NODE};
    if (!size_tree_grow_table(tree))
        return false;
    tree->root = new_node(tree, true);
    return true;
}

void size_tree_release(struct size_tree *tree)
{
    table_release(tree->nodes);
    tree->nodes = NULL;
}

/* Returns whether an entry precedes (size, key). */
static bool is_before(const struct tree_node *node, uint32_t entry, uint64_t size, uint64_t key)
{
    return node->size[entry] < size || (node->size[entry] == size && node->key[entry] < key);
}

/* Returns the number of entries that precede (size, key). */
static uint32_t rank_in(const struct tree_node *node, uint64_t size, uint64_t key)
{
    uint32_t rank = 0;
    while (rank < node->count && is_before(node, rank, size, key))
        rank++;
    return rank;
}

/* Returns the leaf for (size, key). */
static uint32_t leaf_for(const struct size_tree *tree, uint64_t size, uint64_t key)
{
    uint32_t id = tree->root;
    while (!tree->nodes[id].leaf) {
        const struct tree_node *node = &tree->nodes[id];
        uint32_t entry = rank_in(node, size, key);
        id = node->item[entry < node->count ? entry : entry - 1];
    }
    return id;
}

uint32_t size_tree_best(const struct size_tree *tree, uint64_t size)
{
    const struct tree_node *leaf = &tree->nodes[leaf_for(tree, size, 0)];
    uint32_t entry = rank_in(leaf, size, 0);
    return entry < leaf->count ? leaf->item[entry] : NO_BLOCK;
}

uint32_t size_tree_largest(const struct size_tree *tree)
{
    const struct tree_node *root = &tree->nodes[tree->root];
    return size_tree_best(tree, root->size[root->count - 1]);
}

/* Updates the link of an item to its place: the leaf of a block, or the parent and entry of a
 * node. */
static void adopt(struct size_tree *tree, uint32_t id, uint32_t entry)
{
    const struct tree_node *node = &tree->nodes[id];
    uint32_t item = node->item[entry];
    if (node->leaf) {
        tree->heap->blocks[item].index_slot = id;
    } else {
        tree->nodes[item].parent = id;
        tree->nodes[item].place = entry;
    }
}

/* Updates the links of the items from entry `from` on. */
static void adopt_from(struct size_tree *tree, uint32_t id, uint32_t from)
{
    for (uint32_t entry = from; entry < tree->nodes[id].count; entry++)
        adopt(tree, id, entry);
}

/* Updates the links of items that have moved within their node. The link of a block does not
 * change. */
static void readopt(struct size_tree *tree, uint32_t id, uint32_t from)
{
    if (!tree->nodes[id].leaf)
        adopt_from(tree, id, from);
}

/* Updates the size and key of the last block below a node in all its ancestors. */
static void update_parent(struct size_tree *tree, uint32_t id)
{
    const struct tree_node *node = &tree->nodes[id];
    while (node->parent != NO_NODE && node->count > 0) {
        struct tree_node *parent = &tree->nodes[node->parent];
        parent->size[node->place] = node->size[node->count - 1];
        parent->key[node->place] = node->key[node->count - 1];
        node = parent;
    }
}

/* Moves `count` entries; the ranges may overlap. */
static void move_entries(struct tree_node *to, uint32_t at, const struct tree_node *from,
                         uint32_t first, uint32_t count)
{
    memmove(&to->size[at], &from->size[first], count * sizeof to->size[0]);
    memmove(&to->key[at], &from->key[first], count * sizeof to->key[0]);
    memmove(&to->item[at], &from->item[first], count * sizeof to->item[0]);
}

/* Inserts an entry into a node that is not full. */
static void open_entry(struct size_tree *tree, uint32_t id, uint32_t at, uint64_t size,
                       uint64_t key, uint32_t item)
{
    struct tree_node *node = &tree->nodes[id];
    move_entries(node, at + 1, node, at, node->count - at);
    node->size[at] = size;
    node->key[at] = key;
    node->item[at] = item;
    node->count++;
    adopt(tree, id, at);
    readopt(tree, id, at + 1);
}

static void close_entry(struct size_tree *tree, uint32_t id, uint32_t at)
{
    struct tree_node *node = &tree->nodes[id];
    node->count--;
    move_entries(node, at, node, at + 1, node->count - at);
    readopt(tree, id, at);
}

static void open_child(struct size_tree *tree, uint32_t parent, uint32_t at, uint32_t child)
{
    const struct tree_node *node = &tree->nodes[child];
    open_entry(tree, parent, at, node->size[node->count - 1], node->key[node->count - 1], child);
}

/* Halves a full node after making room in its parent. */
static void split(struct size_tree *tree, uint32_t id)
{
    if (tree->nodes[id].parent == NO_NODE) {
        tree->root = new_node(tree, false);
        open_child(tree, tree->root, 0, id);
    } else if (tree->nodes[tree->nodes[id].parent].count == TREE_CAPACITY) {
        split(tree, tree->nodes[id].parent);
    }
    uint32_t right_id = new_node(tree, tree->nodes[id].leaf);
    struct tree_node *left = &tree->nodes[id];
    struct tree_node *right = &tree->nodes[right_id];
    const uint32_t kept = TREE_CAPACITY / 2;
    move_entries(right, 0, left, kept, TREE_CAPACITY - kept);
    left->count = kept;
    right->count = TREE_CAPACITY - kept;
    adopt_from(tree, right_id, 0);
    open_child(tree, left->parent, left->place + 1, right_id);
    update_parent(tree, id);
}

void size_tree_insert(struct size_tree *tree, uint32_t block, uint64_t key)
{
    uint64_t size = tree->heap->blocks[block].size;
    uint32_t id = leaf_for(tree, size, key);
    if (tree->nodes[id].count == TREE_CAPACITY) {
        split(tree, id);
        id = leaf_for(tree, size, key);
    }
    open_entry(tree, id, rank_in(&tree->nodes[id], size, key), size, key, block);
    update_parent(tree, id);
    tree->blocks++;
}

/* Appends the entries of a node's right neighbour to the node. */
static void merge_with_right(struct size_tree *tree, uint32_t left_id, uint32_t right_id)
{
    struct tree_node *left = &tree->nodes[left_id];
    struct tree_node *right = &tree->nodes[right_id];
    uint32_t count = left->count;
    move_entries(left, count, right, 0, right->count);
    left->count += right->count;
    adopt_from(tree, left_id, count);
    close_entry(tree, right->parent, right->place);
    drop_node(tree, right_id);
    update_parent(tree, left_id);
}

/* Merges a small node with a neighbour, and then each ancestor that becomes small. */
static void rebalance(struct size_tree *tree, uint32_t id)
{
    const struct tree_node *node = &tree->nodes[id];
    uint32_t parent_id = node->parent;
    if (parent_id == NO_NODE) {
        while (!tree->nodes[tree->root].leaf && tree->nodes[tree->root].count == 1) {
            uint32_t child = tree->nodes[tree->root].item[0];
            drop_node(tree, tree->root);
            tree->root = child;
            tree->nodes[child].parent = NO_NODE;
        }
        return;
    }
    const struct tree_node *parent = &tree->nodes[parent_id];
    uint32_t place = node->place;
    const uint32_t roomy = 3 * TREE_CAPACITY / 4;
    if (node->count == 0) {
        close_entry(tree, parent_id, place);
        drop_node(tree, id);
        update_parent(tree, parent_id);
    } else if (place + 1 < parent->count &&
               node->count + tree->nodes[parent->item[place + 1]].count <= roomy) {
        merge_with_right(tree, id, parent->item[place + 1]);
    } else if (place > 0 && node->count + tree->nodes[parent->item[place - 1]].count <= roomy) {
        merge_with_right(tree, parent->item[place - 1], id);
    } else {
        return;
    }
    if (parent->count < TREE_CAPACITY / 4)
        rebalance(tree, parent_id);
}

static uint32_t entry_of(const struct tree_node *leaf, uint32_t block)
{
    uint32_t entry = 0;
    while (leaf->item[entry] != block)
        entry++;
    return entry;
}

uint64_t size_tree_remove(struct size_tree *tree, uint32_t block)
{
    uint32_t id = tree->heap->blocks[block].index_slot;
    const struct tree_node *leaf = &tree->nodes[id];
    uint32_t entry = entry_of(leaf, block);
    uint64_t key = leaf->key[entry];
    tree->heap->blocks[block].index_slot = STATE_ALLOCATED;
    close_entry(tree, id, entry);
    update_parent(tree, id);
    tree->blocks--;
    if (leaf->count < TREE_CAPACITY / 4)
        rebalance(tree, id);
    return key;
}

void size_tree_shrink(struct size_tree *tree, uint32_t block, bool by_address)
{
    uint32_t id = tree->heap->blocks[block].index_slot;
    struct tree_node *leaf = &tree->nodes[id];
    uint32_t entry = entry_of(leaf, block);
    uint64_t size = tree->heap->blocks[block].size;
    uint64_t key = by_address ? tree->heap->blocks[block].address : leaf->key[entry];
    bool stays = entry > 0 ? is_before(leaf, entry - 1, size, key) : leaf->parent == NO_NODE;
    if (!stays) {
        size_tree_remove(tree, block);
        size_tree_insert(tree, block, key);
        return;
    }
    leaf->size[entry] = size;
    leaf->key[entry] = key;
    if (entry == leaf->count - 1)
        update_parent(tree, id);
}

/* State of the walk over the tree. */
struct walk {
    const struct size_tree *tree;
    uint32_t blocks;
    uint64_t size, key; /* size and key of the previous block */
};

static const char *check_leaf(struct walk *walk, uint32_t id)
{
    const struct tree_node *node = &walk->tree->nodes[id];
    const struct heap *heap = walk->tree->heap;
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->item[i] >= heap->used)
            return "the size tree holds a block that does not exist";
        if (heap->blocks[node->item[i]].index_slot != id)
            return "a free block records the wrong leaf";
        if (heap->blocks[node->item[i]].size != node->size[i])
            return "a leaf of the size tree has a wrong size";
        if (walk->blocks > 0 && (walk->size > node->size[i] ||
                                 (walk->size == node->size[i] && walk->key >= node->key[i])))
            return "the size tree is out of order";
        walk->size = node->size[i];
        walk->key = node->key[i];
        walk->blocks++;
    }
    return NULL;
}

static const char *check_node(struct walk *walk, uint32_t id)
{
    const struct tree_node *node = &walk->tree->nodes[id];
    if (node->count == 0 && id != walk->tree->root)
        return "a node of the size tree is empty";
    if (node->leaf)
        return check_leaf(walk, id);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct tree_node *child = &walk->tree->nodes[node->item[i]];
        if (child->parent != id || child->place != i)
            return "a node of the size tree has the wrong parent";
        const char *wrong = check_node(walk, node->item[i]);
        if (wrong != NULL)
            return wrong;
        if (node->size[i] != walk->size || node->key[i] != walk->key)
            return "a node of the size tree has the wrong last block";
    }
    return NULL;
}

const char *size_tree_check(const struct size_tree *tree)
{
    struct walk walk = {.tree = tree};
    const char *wrong = check_node(&walk, tree->root);
    if (wrong == NULL && walk.blocks != tree->blocks)
        wrong = "the size tree miscounts its blocks";
    return wrong;
}
