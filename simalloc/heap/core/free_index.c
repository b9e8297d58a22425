#include "free_index.h"

#include <stdlib.h>
#include <string.h>

static uint32_t new_node(struct free_index *index, bool leaf)
{
    uint32_t id = index->unused;
    if (id == NO_NODE)
        id = index->used++;
    else
        index->unused = index->nodes[id].parent;
    struct node *node = &index->nodes[id];
    node->parent = NO_NODE;
    node->place = 0;
    node->count = 0;
    node->leaf = leaf;
    memset(node->size, 0, sizeof node->size);
    return id;
}

static void drop_node(struct free_index *index, uint32_t id)
{
    index->nodes[id].parent = index->unused;
    index->unused = id;
}

bool free_index_grow_table(struct free_index *index)
{
    uint64_t capacity = index->capacity + (uint64_t)index->capacity / 2 + 2 * SPARE_NODES;
    if (capacity > NO_NODE)
        return false;
    struct node *nodes = realloc(index->nodes, (size_t)capacity * sizeof *nodes);
    if (nodes == NULL)
        return false;
    index->nodes = nodes;
    index->capacity = (uint32_t)capacity;
    return true;
}

bool free_index_init(struct free_index *index, struct heap *heap)
{
    *index = (struct free_index){.heap = heap, .unused = NO_NODE};
    if (!free_index_grow_table(index))
        return false;
    index->root = new_node(index, true);
    return true;
}

void free_index_release(struct free_index *index)
{
    free(index->nodes);
    index->nodes = NULL;
}

static uint32_t weight_of(const struct node *node)
{
    return node->leaf ? node->count : node_weight_before(node, node->count);
}

/* Writes into the parent's entry for a node what the node now says of itself. */
static void tell_parent(struct free_index *index, const struct node *node)
{
    struct node *parent = &index->nodes[node->parent];
    parent->size[node->place] = node_largest(node);
    parent->weight[node->place] = weight_of(node);
    if (node->count > 0)
        parent->key[node->place] = node->key[node->count - 1];
}

/* Passes on upwards what a node now says of itself. */
static void refresh(struct free_index *index, uint32_t id)
{
    for (const struct node *node = &index->nodes[id]; node->parent != NO_NODE;
         node = &index->nodes[node->parent])
        tell_parent(index, node);
}

/* Lets the items of entries from .. to-1 know that they are in node `id`. */
static void adopt(struct free_index *index, uint32_t id, uint32_t from, uint32_t to)
{
    const struct node *node = &index->nodes[id];
    for (uint32_t i = from; i < to; i++) {
        if (node->leaf) {
            index->heap->blocks[node->item[i]].home = id;
        } else {
            index->nodes[node->item[i]].parent = id;
            index->nodes[node->item[i]].place = (uint16_t)i;
        }
    }
}

/* Moves `count` entries; the ranges may overlap. */
static void move_entries(struct node *to, uint32_t at, const struct node *from, uint32_t first,
                         uint32_t count)
{
    memmove(&to->size[at], &from->size[first], count * sizeof to->size[0]);
    memmove(&to->key[at], &from->key[first], count * sizeof to->key[0]);
    memmove(&to->item[at], &from->item[first], count * sizeof to->item[0]);
    memmove(&to->weight[at], &from->weight[first], count * sizeof to->weight[0]);
}

static void insert_child(struct free_index *index, uint32_t parent_id, uint32_t at, uint32_t child)
{
    struct node *parent = &index->nodes[parent_id];
    move_entries(parent, at + 1, parent, at, parent->count - at);
    parent->item[at] = child;
    parent->count++;
    adopt(index, parent_id, at, parent->count);
    tell_parent(index, &index->nodes[child]);
}

static void remove_child(struct free_index *index, uint32_t parent_id, uint32_t at)
{
    struct node *parent = &index->nodes[parent_id];
    parent->count--;
    move_entries(parent, at, parent, at + 1, parent->count - at);
    parent->size[parent->count] = 0;
    adopt(index, parent_id, at, parent->count);
}

/* Halves a full node, first making room in its parent; answers where `at` is now. */
struct cursor free_index_split(struct free_index *index, struct cursor at)
{
    if (index->nodes[at.node].parent == NO_NODE) {
        index->root = new_node(index, false);
        insert_child(index, index->root, 0, at.node);
    }
    uint32_t parent = index->nodes[at.node].parent;
    if (index->nodes[parent].count == NODE_CAPACITY)
        free_index_split(index, (struct cursor){parent, 0});

    uint32_t right_id = new_node(index, index->nodes[at.node].leaf);
    struct node *left = &index->nodes[at.node];
    struct node *right = &index->nodes[right_id];
    uint32_t kept = NODE_CAPACITY / 2;
    move_entries(right, 0, left, kept, left->count - kept);
    right->count = (uint8_t)(left->count - kept);
    left->count = (uint8_t)kept;
    memset(&left->size[kept], 0, (NODE_CAPACITY - kept) * sizeof left->size[0]);
    adopt(index, right_id, 0, right->count);
    tell_parent(index, left);
    insert_child(index, left->parent, left->place + 1u, right_id);

    if (at.entry > kept)
        return (struct cursor){right_id, at.entry - kept};
    return at;
}

/* Appends a node's right sibling to it. */
static void merge_with_right(struct free_index *index, uint32_t left_id, uint32_t right_id)
{
    struct node *left = &index->nodes[left_id];
    struct node *right = &index->nodes[right_id];
    uint32_t count = left->count;
    move_entries(left, count, right, 0, right->count);
    left->count = (uint8_t)(count + right->count);
    adopt(index, left_id, count, left->count);
    remove_child(index, right->parent, right->place);
    drop_node(index, right_id);
    tell_parent(index, left);
}

/* Merges a node that has become small with a neighbour, and so on upwards. */
void free_index_rebalance(struct free_index *index, uint32_t id)
{
    struct node *node = &index->nodes[id];
    uint32_t parent_id = node->parent;
    if (parent_id == NO_NODE) {
        while (!index->nodes[index->root].leaf && index->nodes[index->root].count == 1) {
            uint32_t child = index->nodes[index->root].item[0];
            drop_node(index, index->root);
            index->root = child;
            index->nodes[child].parent = NO_NODE;
        }
        return;
    }
    struct node *parent = &index->nodes[parent_id];
    uint32_t place = node->place;
    const uint32_t roomy = 3 * NODE_CAPACITY / 4;
    if (node->count == 0) {
        remove_child(index, parent_id, place);
        drop_node(index, id);
    } else if (place + 1u < parent->count &&
               node->count + index->nodes[parent->item[place + 1]].count <= roomy) {
        merge_with_right(index, id, parent->item[place + 1]);
    } else if (place > 0 && node->count + index->nodes[parent->item[place - 1]].count <= roomy) {
        merge_with_right(index, parent->item[place - 1], id);
    } else {
        return;
    }
    refresh(index, parent_id);
    if (parent->count < NODE_CAPACITY / 4)
        free_index_rebalance(index, parent_id);
}

struct check {
    const struct free_index *index;
    enum index_order order;
    uint32_t blocks;        /* met so far */
    uint64_t size, key;     /* of the latest one met */
};

static bool is_out_of_order(const struct check *check, uint64_t size, uint64_t key)
{
    if (check->blocks == 0 || check->order == INDEX_BY_POSITION)
        return false;
    if (check->order == INDEX_BY_SIZE && check->size != size)
        return check->size > size;
    return check->key >= key;
}

static const char *check_leaf(struct check *check, uint32_t id)
{
    const struct node *node = &check->index->nodes[id];
    const struct heap *heap = check->index->heap;
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->item[i] >= heap->used)
            return "the free index holds a block that never was";
        if (heap->blocks[node->item[i]].home != id)
            return "a free block does not know its node";
        if (heap->blocks[node->item[i]].size != node->size[i])
            return "the free index has a wrong size";
        if (is_out_of_order(check, node->size[i], node->key[i]))
            return "the free index is out of order";
        check->size = node->size[i];
        check->key = node->key[i];
        check->blocks++;
    }
    return NULL;
}

static const char *check_node(struct check *check, uint32_t id)
{
    const struct node *node = &check->index->nodes[id];
    for (uint32_t i = node->count; i < NODE_CAPACITY; i++)
        if (node->size[i] != 0)
            return "a node of the free index has sizes beyond its entries";
    if (node->count == 0 && id != check->index->root)
        return "a node of the free index is empty";
    if (node->leaf)
        return check_leaf(check, id);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *child = &check->index->nodes[node->item[i]];
        if (child->parent != id || child->place != i)
            return "a node of the free index does not know its parent";
        if (node->size[i] != node_largest(child) || node->weight[i] != weight_of(child))
            return "a node of the free index has a wrong maximum or weight";
        if (check->order != INDEX_BY_POSITION && node->key[i] != child->key[child->count - 1])
            return "a node of the free index has a wrong last key";
        const char *wrong = check_node(check, node->item[i]);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

const char *free_index_check(const struct free_index *index, enum index_order order)
{
    struct check check = {.index = index, .order = order};
    const char *wrong = check_node(&check, index->root);
    if (wrong == NULL && check.blocks != index->blocks)
        wrong = "the free index miscounts its blocks";
    return wrong;
}
