/* Splits and merges of the nodes of a list's tree, and spreading of blocks in leaves. */
#include "index/list/block_list_edit.h"

#include <string.h>

static uint32_t new_leaf(struct block_list *list)
{
    uint32_t id = list->unused_leaf;
    if (id == NO_NODE)
        id = list->leaves_used++;
    else
        list->unused_leaf = list->leaves[id].place.parent;
    struct leaf *leaf = &list->leaves[id];
    memset(leaf, 0, sizeof *leaf);
    leaf->place.parent = NO_NODE;
    return id;
}

static uint32_t new_inner(struct block_list *list)
{
    uint32_t id = list->unused_inner;
    if (id == NO_NODE)
        id = list->inners_used++;
    else
        list->unused_inner = list->inners[id].place.parent;
    struct inner *inner = &list->inners[id];
    memset(inner, 0, sizeof *inner);
    inner->place.parent = NO_NODE;
    return id;
}

static void drop(struct block_list *list, uint32_t level, uint32_t id)
{
    if (level == 0) {
        list->leaves[id].place.parent = list->unused_leaf;
        list->unused_leaf = id;
    } else {
        list->inners[id].place.parent = list->unused_inner;
        list->unused_inner = id;
    }
}

/* Updates the bound of a node in its parent and, while bounds change, in the higher ancestors. */
static void update_parent(struct block_list *list, uint32_t level, uint32_t id)
{
    bool changed = true;
    for (; changed && level < list->height; level++) {
        const struct place *place = place_of(list, level, id);
        changed = inner_note(list, &list->inners[place->parent], place->slot,
                             largest_of(list, level, id));
        id = place->parent;
    }
}

/* Raises the bound between a leaf and the next leaf above `key`. That bound belongs to the nearest
 * ancestor that is not the last child of its parent. */
static void raise_next_bound(struct block_list *list, uint32_t leaf, uint32_t key)
{
    const struct place *place = &list->leaves[leaf].place;
    for (uint32_t level = 0; level < list->height; level++) {
        struct inner *parent = &list->inners[place->parent];
        uint32_t next = place->slot + 1;
        if (next < parent->count) {
            if (parent->key[next] <= key)
                parent->key[next] = key < SHORT_KEY ? key + 1 : SHORT_KEY;
            return;
        }
        place = &parent->place;
    }
}

void block_list_move_bounds(struct block_list *list, uint32_t leaf, uint32_t key)
{
    raise_next_bound(list, leaf, key);
    const struct place *place = &list->leaves[leaf].place;
    for (uint32_t level = 0; level < list->height; level++) {
        struct inner *parent = &list->inners[place->parent];
        if (key < parent->key[place->slot])
            parent->key[place->slot] = key;
        place = &parent->place;
    }
}

void block_list_correct(struct block_list *list, uint32_t level, uint32_t id)
{
    update_parent(list, level, id);
}

/* Updates the places of the children from slot `first` on. */
static void adopt(struct block_list *list, uint32_t level, uint32_t id, uint32_t first)
{
    const struct inner *inner = &list->inners[id];
    for (uint32_t i = first; i < inner->count; i++)
        *place_of(list, level - 1, inner->child[i]) = (struct place){id, i};
}

/* Moves `count` children; the ranges may overlap. */
static void move_children(struct inner *to, uint32_t at, const struct inner *from, uint32_t first,
                          uint32_t count)
{
    memmove(&to->size[at], &from->size[first], count * sizeof to->size[0]);
    memmove(&to->child[at], &from->child[first], count * sizeof to->child[0]);
    memmove(&to->key[at], &from->key[first], count * sizeof to->key[0]);
    memmove(&to->few[at], &from->few[first], count * sizeof to->few[0]);
    memmove(&to->blocks[at], &from->blocks[first], count * sizeof to->blocks[0]);
    memmove(&to->largest[at], &from->largest[first], count * sizeof to->largest[0]);
}

/* Adds a root above the old root. */
static void raise_root(struct block_list *list)
{
    uint32_t id = new_inner(list);
    list->inners[id].child[0] = list->root;
    inner_count(&list->inners[id], list->height, 0, list->blocks);
    list->inners[id].count = 1;
    list->height++;
    adopt(list, list->height, id, 0);
    update_parent(list, list->height - 1, list->root);
    list->root = id;
}

static void split_inner(struct block_list *list, uint32_t level, uint32_t id);

/* Inserts `child`, which received the last `blocks` blocks of node `id`, as the right neighbour of
 * `id`. */
static void insert_sibling(struct block_list *list, uint32_t level, uint32_t id, uint32_t child,
                           uint32_t key, uint32_t blocks)
{
    uint32_t parent_id = place_of(list, level, id)->parent;
    if (list->inners[parent_id].count == SLOTS) {
        split_inner(list, level + 1, parent_id);
        parent_id = place_of(list, level, id)->parent;
    }
    struct inner *parent = &list->inners[parent_id];
    uint32_t slot = place_of(list, level, id)->slot + 1;
    move_children(parent, slot + 1, parent, slot, parent->count - slot);
    parent->child[slot] = child;
    parent->key[slot] = key;
    parent->few[slot] = 0;
    parent->blocks[slot] = 0;
    inner_count(parent, level, slot, blocks);
    inner_count(parent, level, slot - 1, -blocks);
    parent->size[slot] = 0; /* an old bound must not remain */
    parent->largest[slot] = 0;
    parent->count++;
    adopt(list, level + 1, parent_id, slot);
    update_parent(list, level, id);
    update_parent(list, level, child);
}

static void split_inner(struct block_list *list, uint32_t level, uint32_t id)
{
    if (list->inners[id].place.parent == NO_NODE)
        raise_root(list);
    uint32_t right_id = new_inner(list);
    struct inner *left = &list->inners[id];
    struct inner *right = &list->inners[right_id];
    const uint32_t kept = SLOTS / 2;
    move_children(right, 0, left, kept, SLOTS - kept);
    right->count = SLOTS - kept;
    left->count = kept;
    memset(&left->size[kept], 0, (SLOTS - kept) * sizeof left->size[0]);
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < right->count; i++)
        blocks += inner_blocks(right, level - 1, i);
    adopt(list, level, right_id, 0);
    insert_sibling(list, level, id, right_id, right->key[0], blocks);
}

/* Blocks that move from leaves to other leaves. */
struct row {
    uint32_t count;
    uint16_t size[2 * SLOTS];
    uint32_t block[2 * SLOTS];
    uint32_t key[2 * SLOTS];
};

static void take_all(const struct leaf *leaf, struct row *row)
{
    for (uint64_t slots = leaf->used; slots != 0; slots &= slots - 1) {
        uint32_t slot = first_slot(slots);
        row->size[row->count] = leaf->size[slot];
        row->block[row->count] = leaf->block[slot];
        row->key[row->count] = leaf->key[slot];
        row->count++;
    }
}

/* Returns the slot of block number `i` of `count` if the empty slots are spread evenly. */
static uint32_t spread_slot(uint32_t i, uint32_t count)
{
    if (i < count)
        return i * SLOTS / count;
    return count == 0 ? 0 : (count - 1) * SLOTS / count + 1; /* after the last block */
}

/* Fills a leaf with `count` blocks of a row, from block number `first` on. */
static void fill(struct block_list *list, uint32_t id, const struct row *row, uint32_t first,
                 uint32_t count, bool packed)
{
    struct leaf *leaf = &list->leaves[id];
    memset(leaf->size, 0, sizeof leaf->size);
    leaf->used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = packed ? i : spread_slot(i, count);
        leaf->size[slot] = row->size[first + i];
        leaf->block[slot] = row->block[first + i];
        leaf->key[slot] = row->key[first + i];
        leaf->used |= UINT64_C(1) << slot;
        list->heap->blocks[leaf->block[slot]].index_slot = home_of(id, slot);
    }
}

/* Moves the later blocks of a full leaf to a new leaf. Returns the position of rank `rank`. */
static struct cursor split_leaf(struct block_list *list, uint32_t id, const struct row *row,
                                uint32_t rank, uint32_t key)
{
    if (list->leaves[id].place.parent == NO_NODE)
        raise_root(list);
    uint32_t right = new_leaf(list);
    bool at_end = rank == row->count;
    uint32_t kept = at_end ? row->count : row->count / 2;
    fill(list, id, row, 0, kept, at_end);
    fill(list, right, row, kept, row->count - kept, false);
    insert_sibling(list, 0, id, right, at_end ? key : row->key[kept], row->count - kept);
    if (at_end)
        return (struct cursor){right, 0};
    return rank <= kept ? (struct cursor){id, spread_slot(rank, kept)}
                        : (struct cursor){right, spread_slot(rank - kept, row->count - kept)};
}

struct cursor block_list_make_room(struct block_list *list, struct cursor at, uint32_t key)
{
    const struct leaf *leaf = &list->leaves[at.leaf];
    struct row row;
    row.count = 0;
    take_all(leaf, &row);
    uint32_t rank = slots_count(leaf->used & slots_before(at.slot));
    if (row.count > 3 * SLOTS / 4)
        return split_leaf(list, at.leaf, &row, rank, key);
    bool packed = rank == row.count;
    fill(list, at.leaf, &row, 0, row.count, packed);
    return (struct cursor){at.leaf, packed ? rank : spread_slot(rank, row.count)};
}

static void remove_child(struct block_list *list, uint32_t level, uint32_t id)
{
    struct place place = *place_of(list, level, id);
    struct inner *parent = &list->inners[place.parent];
    parent->count--;
    move_children(parent, place.slot, parent, place.slot + 1, parent->count - place.slot);
    parent->size[parent->count] = 0;
    adopt(list, level + 1, place.parent, place.slot);
    drop(list, level, id);
}

/* Removes a node whose blocks have moved to its left neighbour. */
static void absorb(struct block_list *list, uint32_t level, uint32_t left, uint32_t right)
{
    const struct place *place = place_of(list, level, right);
    struct inner *parent = &list->inners[place->parent];
    inner_count(parent, level, place_of(list, level, left)->slot,
                inner_blocks(parent, level, place->slot));
    remove_child(list, level, right);
}

/* Appends the children of a node's right neighbour to the node. */
static void merge_inners(struct block_list *list, uint32_t level, uint32_t left_id,
                         uint32_t right_id)
{
    struct inner *left = &list->inners[left_id];
    struct inner *right = &list->inners[right_id];
    const struct inner *parent = &list->inners[left->place.parent];
    uint32_t count = left->count;
    right->key[0] = parent->key[right->place.slot];
    move_children(left, count, right, 0, right->count);
    left->count += right->count;
    adopt(list, level, left_id, count);
    absorb(list, level, left_id, right_id);
    update_parent(list, level, left_id);
}

static void merge_leaves(struct block_list *list, uint32_t left, uint32_t right)
{
    struct row row;
    row.count = 0;
    take_all(&list->leaves[left], &row);
    take_all(&list->leaves[right], &row);
    fill(list, left, &row, 0, row.count, false);
    absorb(list, 0, left, right);
    update_parent(list, 0, left);
}

static uint32_t occupancy(const struct block_list *list, uint32_t level, uint32_t id)
{
    return level == 0 ? slots_count(list->leaves[id].used) : list->inners[id].count;
}

/* Merges a node with the neighbour in a slot of their parent if both together are small. Returns
 * whether they were merged. */
static bool merge_with(struct block_list *list, uint32_t level, uint32_t id, uint32_t slot)
{
    const struct place *place = place_of(list, level, id);
    const struct inner *parent = &list->inners[place->parent];
    if (slot >= parent->count)
        return false;
    uint32_t other = parent->child[slot];
    if (occupancy(list, level, id) + occupancy(list, level, other) > 5 * SLOTS / 8)
        return false;
    uint32_t left = slot < place->slot ? other : id;
    uint32_t right = slot < place->slot ? id : other;
    if (level == 0)
        merge_leaves(list, left, right);
    else
        merge_inners(list, level, left, right);
    return true;
}

/* Merges a small node with a neighbour, and then each ancestor that becomes small. */
static void merge_node(struct block_list *list, uint32_t level, uint32_t id)
{
    while (level < list->height) {
        struct place place = *place_of(list, level, id);
        if (occupancy(list, level, id) == 0)
            remove_child(list, level, id);
        else if (!merge_with(list, level, id, place.slot + 1) &&
                 !merge_with(list, level, id, place.slot - 1))
            return;
        level++;
        id = place.parent;
        if (list->inners[id].count >= SLOTS / 4)
            break;
    }
    while (list->height > 0 && list->inners[list->root].count == 1) {
        uint32_t child = list->inners[list->root].child[0];
        drop(list, list->height, list->root);
        list->height--;
        list->root = child;
        place_of(list, list->height, child)->parent = NO_NODE;
    }
}

void block_list_merge_leaf(struct block_list *list, uint32_t leaf)
{
    merge_node(list, 0, leaf);
}
