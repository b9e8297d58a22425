#include "index/treap/treap.h"

#include "space/table.h"

bool treap_nodes_reserve(struct treap_nodes *nodes, uint32_t capacity)
{
    return TABLE_FOLLOW(nodes->nodes, nodes->capacity, capacity);
}

void treap_nodes_release(struct treap_nodes *nodes)
{
    table_release(nodes->nodes);
    nodes->nodes = NULL;
}

static bool is_before(struct treap_key one, struct treap_key other)
{
    return one.major != other.major ? one.major < other.major : one.minor < other.minor;
}

/* Returns the priority of a node, which is higher than the priorities of its children. */
static uint32_t priority(uint32_t id)
{
    return (uint32_t)(id * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

static uint32_t count_of(const struct treap *tree, uint32_t id)
{
    return id == NO_BLOCK ? 0 : tree->nodes[id].count;
}

/* Computes the number of nodes in a node's subtree from the numbers of its children. */
static void sum_up(const struct treap *tree, uint32_t id)
{
    struct treap_node *node = &tree->nodes[id];
    node->count = count_of(tree, node->left) + count_of(tree, node->right) + 1;
}

/* Returns the link that leads to a node. */
static uint32_t *link_of(const struct treap *tree, uint32_t id)
{
    uint32_t parent = tree->nodes[id].parent;
    if (parent == NO_BLOCK)
        return tree->root;
    return tree->nodes[parent].left == id ? &tree->nodes[parent].left : &tree->nodes[parent].right;
}

/* Rotates a node above its parent. */
static void raise(const struct treap *tree, uint32_t id)
{
    uint32_t lowered = tree->nodes[id].parent;
    struct treap_node *node = &tree->nodes[id];
    struct treap_node *parent = &tree->nodes[lowered];
    *link_of(tree, lowered) = id;
    node->parent = parent->parent;
    parent->parent = id;
    uint32_t moved;
    if (parent->left == id) {
        moved = parent->left = node->right;
        node->right = lowered;
    } else {
        moved = parent->right = node->left;
        node->left = lowered;
    }
    if (moved != NO_BLOCK)
        tree->nodes[moved].parent = lowered;
    node->count = parent->count;
    sum_up(tree, lowered);
}

void treap_insert(const struct treap *tree, uint32_t id, struct treap_key key)
{
    uint32_t parent = NO_BLOCK;
    uint32_t *link = tree->root;
    while (*link != NO_BLOCK) {
        parent = *link;
        tree->nodes[parent].count++;
        link = is_before(key, tree->nodes[parent].key) ? &tree->nodes[parent].left
                                                       : &tree->nodes[parent].right;
    }
    *link = id;
    tree->nodes[id] = (struct treap_node){.key = key, .count = 1, .parent = parent};
    while (tree->nodes[id].parent != NO_BLOCK &&
           priority(id) > priority(tree->nodes[id].parent))
        raise(tree, id);
}

void treap_remove(const struct treap *tree, uint32_t id)
{
    struct treap_node *node = &tree->nodes[id];
    while (node->left != NO_BLOCK && node->right != NO_BLOCK)
        raise(tree, priority(node->left) > priority(node->right) ? node->left : node->right);
    uint32_t child = node->left == NO_BLOCK ? node->right : node->left;
    *link_of(tree, id) = child;
    if (child != NO_BLOCK)
        tree->nodes[child].parent = node->parent;
    for (uint32_t above = node->parent; above != NO_BLOCK; above = tree->nodes[above].parent)
        tree->nodes[above].count--;
}

struct treap_place treap_from(const struct treap *tree, struct treap_key key)
{
    struct treap_place found = {NO_BLOCK, 0};
    uint32_t id = *tree->root;
    while (id != NO_BLOCK) {
        const struct treap_node *node = &tree->nodes[id];
        if (is_before(node->key, key)) {
            found.rank += count_of(tree, node->left) + 1;
            id = node->right;
        } else {
            found.block = id;
            id = node->left;
        }
    }
    return found;
}

uint32_t treap_before(const struct treap *tree, struct treap_key key)
{
    uint32_t found = NO_BLOCK;
    for (uint32_t id = *tree->root; id != NO_BLOCK;) {
        bool before = is_before(tree->nodes[id].key, key);
        found = before ? id : found;
        id = before ? tree->nodes[id].right : tree->nodes[id].left;
    }
    return found;
}

/* Checks a subtree. The recursion is not deep, because the tree is balanced. */
static const char *check_below(const struct treap *tree, uint32_t id)
{
    const struct treap_node *node = &tree->nodes[id];
    if (tree->blocks[id].index_slot != STATE_FREE)
        return "a treap holds a block that is not free";
    const uint32_t children[] = {node->left, node->right};
    for (unsigned side = 0; side < 2; side++) {
        uint32_t child = children[side];
        if (child == NO_BLOCK)
            continue;
        if (tree->nodes[child].parent != id || priority(child) > priority(id) ||
            is_before(tree->nodes[child].key, node->key) != (side == 0))
            return "a treap is out of order";
        const char *wrong = check_below(tree, child);
        if (wrong != NULL)
            return wrong;
    }
    return node->count == count_of(tree, node->left) + count_of(tree, node->right) + 1
               ? NULL
               : "a node of a treap miscounts its subtree";
}

const char *treap_check(const struct treap *tree)
{
    return *tree->root == NO_BLOCK ? NULL : check_below(tree, *tree->root);
}
