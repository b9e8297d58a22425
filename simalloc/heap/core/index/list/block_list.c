#include "index/list/block_list.h"

#include "space/table.h"

bool block_list_grow_tables(struct block_list *list, uint64_t more_leaves, uint64_t more_inners)
{
    return table_grow(&list->leaves, sizeof *list->leaves, list->leaves_used, more_leaves,
                      STATE_FREE / SLOTS, &list->leaf_capacity) &&
           table_grow(&list->inners, sizeof *list->inners, list->inners_used, more_inners,
                      NO_NODE, &list->inner_capacity);
}

bool block_list_init(struct block_list *list, struct heap *heap, uint64_t unit)
{
    *list = (struct block_list){
        .heap = heap,
        .granule = (unsigned)__builtin_ctzll(unit),
    };
    if (!block_list_grow_tables(list, LEAVES_OF_ONE, INNERS_OF_ONE))
        return false;
    block_list_clear(list);
    return true;
}

bool block_list_reserve_for(struct block_list *list, uint64_t blocks)
{
    uint64_t leaves = SPARE_LEAVES + blocks / SLOTS;
    uint64_t inners = SPARE_INNERS + leaves / (SLOTS / 2);
    return block_list_has_spare(list, leaves, inners) ||
           block_list_grow_tables(list, leaves, inners);
}

void block_list_clear(struct block_list *list)
{
    list->unused_leaf = NO_NODE;
    list->unused_inner = NO_NODE;
    list->root = 0;
    list->leaves[list->root] = (struct leaf){.place = {NO_NODE, 0}};
    list->leaves_used = 1;
    list->inners_used = 0;
    list->height = 0;
    list->blocks = 0;
}

void block_list_release(struct block_list *list)
{
    table_release(list->leaves);
    table_release(list->inners);
    list->leaves = NULL;
    list->inners = NULL;
}

uint32_t block_list_large_block(const struct block_list *list, const struct leaf *leaf,
                                uint32_t from, uint64_t size, bool last)
{
    uint32_t found = SLOTS;
    for (uint32_t slot = from; slot < SLOTS && (last || found == SLOTS); slot++)
        if (leaf->size[slot] == SHORT_SIZE && list->heap->blocks[leaf->block[slot]].size >= size)
            found = slot;
    return found;
}

uint32_t block_list_large_child(const struct inner *inner, uint32_t from, uint64_t size, bool last)
{
    uint32_t found = SLOTS;
    for (uint32_t slot = from; slot < SLOTS && (last || found == SLOTS); slot++)
        if (inner->size[slot] == SHORT_SIZE && inner->largest[slot] >= size)
            found = slot;
    return found;
}

static uint32_t first_leaf_below(const struct block_list *list, uint32_t level, uint32_t id)
{
    for (; level > 0; level--)
        id = list->inners[id].child[0];
    return id;
}

uint64_t block_list_lowest_address(const struct block_list *list, uint32_t level, uint32_t id)
{
    const struct leaf *leaf = &list->leaves[first_leaf_below(list, level, id)];
    return list->heap->blocks[leaf->block[first_slot(leaf->used)]].address;
}

struct cursor block_list_far_position(const struct block_list *list, uint64_t address)
{
    uint32_t id = list->root;
    for (uint32_t level = list->height; level > 0; level--) {
        const struct inner *inner = &list->inners[id];
        uint32_t slot = inner->count - 1;
        while (slot > 0 && block_list_lowest_address(list, level - 1, inner->child[slot]) > address)
            slot--;
        id = inner->child[slot];
    }
    const struct leaf *leaf = &list->leaves[id];
    uint64_t below = leaf->used;
    while (below != 0 && list->heap->blocks[leaf->block[last_slot(below)]].address > address)
        below &= slots_before(last_slot(below));
    return (struct cursor){id, slot_behind(below)};
}

/* Returns the position of the last block below a node. */
static struct cursor last_below(const struct block_list *list, uint32_t level, uint32_t id)
{
    for (; level > 0; level--)
        id = list->inners[id].child[list->inners[id].count - 1];
    return (struct cursor){id, last_slot(list->leaves[id].used)};
}

struct cursor block_list_preceding(const struct block_list *list, struct cursor at)
{
    const struct leaf *leaf = &list->leaves[at.leaf];
    uint64_t earlier = leaf->used & slots_before(at.slot);
    if (earlier != 0)
        return (struct cursor){at.leaf, last_slot(earlier)};
    const struct place *place = &leaf->place;
    for (uint32_t level = 0; level < list->height; level++) {
        const struct inner *parent = &list->inners[place->parent];
        if (place->slot > 0)
            return last_below(list, level, parent->child[place->slot - 1]);
        place = &parent->place;
    }
    return last_below(list, list->height, list->root);
}

uint32_t block_list_next_leaf(const struct block_list *list, uint32_t leaf)
{
    const struct place *place = &list->leaves[leaf].place;
    for (uint32_t level = 0; level < list->height; level++) {
        const struct inner *parent = &list->inners[place->parent];
        if (place->slot + 1 < parent->count)
            return first_leaf_below(list, level, parent->child[place->slot + 1]);
        place = &parent->place;
    }
    return first_leaf_below(list, list->height, list->root);
}
