#include "index/unbalanced/address_tree.h"

#include "space/table.h"

bool address_nodes_reserve(struct address_nodes *nodes, uint32_t capacity)
{
    return TABLE_FOLLOW(nodes->nodes, nodes->capacity, capacity);
}

void address_nodes_release(struct address_nodes *nodes)
{
    table_release(nodes->nodes);
    nodes->nodes = NULL;
}

static bool has_sizes(const struct address_tree *tree)
{
    return tree->sizes.by_size.root != NULL;
}

static uint64_t larger_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Returns the largest block size in the subtree of a node. */
static uint64_t largest(const struct address_tree *tree, uint32_t id)
{
    const struct address_node *node = &tree->nodes[id];
    return larger_of(tree->blocks[id].size, larger_of(node->max_left, node->max_right));
}

/* Stores the largest size of a node's subtree, if the tree is used for best fit. */
static void note_largest(const struct address_tree *tree, uint32_t id)
{
    if (has_sizes(tree))
        tree_sizes_note(&tree->sizes, id, largest(tree, id));
}

/* Updates the largest size in each ancestor of a node. */
static void update_parents(const struct address_tree *tree, uint32_t id)
{
    uint32_t parent = tree->nodes[id].parent;
    note_largest(tree, id);
    while (parent != NO_BLOCK) {
        struct address_node *node = &tree->nodes[parent];
        uint64_t *known = node->left == id ? &node->max_left : &node->max_right;
        uint64_t size = largest(tree, id);
        if (*known == size)
            return; /* no higher ancestor changes */
        *known = size;
        note_largest(tree, parent);
        id = parent;
        parent = node->parent;
    }
}

void address_tree_resized(const struct address_tree *tree, uint32_t id)
{
    if (has_sizes(tree))
        tree_sizes_resized(&tree->sizes, id);
    update_parents(tree, id);
}

struct searched address_tree_first(const struct address_tree *tree, uint64_t size)
{
    struct searched found = {*tree->root, 0};
    while (found.node != NO_BLOCK) {
        const struct address_node *node = &tree->nodes[found.node];
        found.visited++;
        if (node->max_left >= size)
            found.node = node->left;
        else if (tree->blocks[found.node].size >= size)
            break;
        else
            found.node = node->max_right >= size ? node->right : NO_BLOCK;
    }
    return found;
}

struct searched address_tree_better(const struct address_tree *tree, uint64_t size)
{
    struct searched found = {*tree->root, 0};
    while (found.node != NO_BLOCK) {
        const struct address_node *node = &tree->nodes[found.node];
        uint64_t least = UINT64_MAX;
        uint32_t next = NO_BLOCK;
        found.visited++;
        if (tree->blocks[found.node].size >= size) {
            least = tree->blocks[found.node].size;
            next = found.node;
        }
        if (node->max_left >= size && node->max_left < least) {
            least = node->max_left;
            next = node->left;
        }
        if (node->max_right >= size && node->max_right < least)
            next = node->right;
        if (next == found.node)
            break;
        found.node = next;
    }
    return found;
}

struct searched address_tree_best(const struct address_tree *tree, uint64_t size)
{
    struct treap_place best = tree_sizes_best(&tree->sizes, size);
    return (struct searched){best.block, best.rank};
}

struct searched address_tree_insert(const struct address_tree *tree, uint32_t id, bool meets)
{
    const struct block *block = &tree->blocks[id];
    struct searched place = {NO_BLOCK, 0};
    uint32_t parent = NO_BLOCK;
    uint32_t *link = tree->root;
    while (*link != NO_BLOCK) {
        parent = *link;
        place.visited++;
        if (meets && (parent == block->previous || parent == block->next)) {
            place.node = parent;
            return place;
        }
        bool lower = block->address < tree->blocks[parent].address;
        link = lower ? &tree->nodes[parent].left : &tree->nodes[parent].right;
    }
    *link = id;
    tree->nodes[id] = (struct address_node){.parent = parent};
    if (has_sizes(tree))
        tree_sizes_enter(&tree->sizes, id, block->size);
    update_parents(tree, id);
    return place;
}

/* Replaces a node under its parent by another node or by NO_BLOCK, and updates the ancestors. */
static void replace(const struct address_tree *tree, uint32_t id, uint32_t other)
{
    uint32_t above = tree->nodes[id].parent;
    if (other != NO_BLOCK)
        tree->nodes[other].parent = above;
    if (above == NO_BLOCK) {
        *tree->root = other;
        return;
    }
    struct address_node *parent = &tree->nodes[above];
    uint64_t size = other == NO_BLOCK ? 0 : largest(tree, other);
    if (parent->left == id) {
        parent->left = other;
        parent->max_left = size;
    } else {
        parent->right = other;
        parent->max_right = size;
    }
    update_parents(tree, above);
}

/* Removes a node from the tree, but not from `sizes`. */
static void unlink_node(const struct address_tree *tree, uint32_t id)
{
    struct address_node *node = &tree->nodes[id];
    if (node->left == NO_BLOCK || node->right == NO_BLOCK) {
        replace(tree, id, node->left == NO_BLOCK ? node->right : node->left);
        return;
    }
    uint32_t following = node->right;
    while (tree->nodes[following].left != NO_BLOCK)
        following = tree->nodes[following].left;
    replace(tree, following, tree->nodes[following].right);
    tree->nodes[following] = *node; /* its right child may have been replaced above */
    tree->nodes[node->left].parent = following;
    if (node->right != NO_BLOCK)
        tree->nodes[node->right].parent = following;
    note_largest(tree, following);
    replace(tree, id, following);
}

void address_tree_delete(const struct address_tree *tree, uint32_t id)
{
    unlink_node(tree, id);
    if (has_sizes(tree))
        tree_sizes_leave(&tree->sizes, id);
}

/* Turns the tree into a list in address order, linked by `right` (Stout and Warren 1986). Returns
 * the length of the list. */
static uint64_t tree_to_vine(const struct address_tree *tree)
{
    uint64_t length = 0;
    uint32_t *link = tree->root;
    while (*link != NO_BLOCK) {
        struct address_node *node = &tree->nodes[*link];
        uint32_t left = node->left;
        if (left == NO_BLOCK) {
            link = &node->right;
            length++;
            continue;
        }
        node->left = tree->nodes[left].right;
        tree->nodes[left].right = *link;
        *link = left;
    }
    return length;
}

/* Makes a balanced tree from the first `count` nodes of a list and removes these nodes from the
 * list. Returns the root of the tree. */
static uint32_t fold(const struct address_tree *tree, uint32_t *chain, uint64_t count)
{
    if (count == 0)
        return NO_BLOCK;
    uint32_t left = fold(tree, chain, count / 2);
    uint32_t root = *chain;
    struct address_node *node = &tree->nodes[root];
    *chain = node->right;
    uint32_t right = fold(tree, chain, count - count / 2 - 1);
    *node = (struct address_node){.parent = NO_BLOCK, .left = left, .right = right};
    if (left != NO_BLOCK) {
        tree->nodes[left].parent = root;
        node->max_left = largest(tree, left);
    }
    if (right != NO_BLOCK) {
        tree->nodes[right].parent = root;
        node->max_right = largest(tree, right);
    }
    note_largest(tree, root);
    return root;
}

void address_tree_rebalance(const struct address_tree *tree)
{
    uint64_t count = tree_to_vine(tree);
    uint32_t chain = *tree->root;
    *tree->root = fold(tree, &chain, count);
}

/* Returns whether a child has a link back to its node, is on the correct side and has the `known`
 * largest size. */
static bool is_child(const struct address_tree *tree, uint32_t id, uint32_t child, uint64_t known,
                     bool lower)
{
    if (child == NO_BLOCK)
        return known == 0;
    const struct block *blocks = tree->blocks;
    return tree->nodes[child].parent == id && known == largest(tree, child) &&
           (blocks[child].address < blocks[id].address) == lower;
}

/* Returns the node with the next higher address, or NO_BLOCK. */
static uint32_t following_node(const struct address_tree *tree, uint32_t id)
{
    uint32_t next = tree->nodes[id].right;
    if (next != NO_BLOCK) {
        while (tree->nodes[next].left != NO_BLOCK)
            next = tree->nodes[next].left;
        return next;
    }
    while (tree->nodes[id].parent != NO_BLOCK && tree->nodes[tree->nodes[id].parent].right == id)
        id = tree->nodes[id].parent;
    return tree->nodes[id].parent;
}

const char *address_tree_check(const struct address_tree *tree, uint64_t *count)
{
    uint32_t id = *tree->root;
    uint64_t before = *count;
    if (id != NO_BLOCK && tree->nodes[id].parent != NO_BLOCK)
        return "the root of a tree has a parent";
    while (id != NO_BLOCK && tree->nodes[id].left != NO_BLOCK)
        id = tree->nodes[id].left;
    while (id != NO_BLOCK) {
        const struct address_node *node = &tree->nodes[id];
        if (tree->blocks[id].index_slot != STATE_FREE)
            return "a tree holds a block that is not free";
        if (!is_child(tree, id, node->left, node->max_left, true) ||
            !is_child(tree, id, node->right, node->max_right, false))
            return "a node of a tree has wrong data about its children";
        if (has_sizes(tree) && !tree_sizes_has(&tree->sizes, id, largest(tree, id)))
            return "a node of a tree is missing from the size order";
        uint32_t next = following_node(tree, id);
        if (next != NO_BLOCK && tree->blocks[next].address <= tree->blocks[id].address)
            return "a tree is not in address order";
        ++*count;
        id = next;
    }
    return has_sizes(tree) ? tree_sizes_check(&tree->sizes, *count - before) : NULL;
}
