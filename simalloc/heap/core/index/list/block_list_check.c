#include "index/list/block_list_edit.h"

/* State of the walk over the tree. */
struct walk {
    const struct block_list *list;
    bool ordered;
    bool offers;
    uint32_t blocks;
    uint64_t address; /* address of the previous block */
};

static const char *check_leaf(struct walk *walk, uint32_t id)
{
    const struct block_list *list = walk->list;
    const struct leaf *leaf = &list->leaves[id];
    for (uint32_t i = 0; i < SLOTS; i++) {
        if ((leaf->used >> i & 1) == 0) {
            if (leaf->size[i] != 0)
                return "an empty slot of the list has a size";
            continue;
        }
        const struct block *block = &list->heap->blocks[leaf->block[i]];
        if (leaf->block[i] >= list->heap->used || block->index_slot != home_of(id, i))
            return "a free block records the wrong leaf";
        if (leaf->size[i] != short_size(list, block->size) &&
            !(walk->offers && leaf->size[i] == SHORT_SIZE))
            return "a leaf of the list has a wrong size";
        if (walk->ordered && leaf->key[i] != short_key(list, block->address))
            return "a leaf of the list has a wrong address";
        if (walk->ordered && walk->blocks > 0 && block->address <= walk->address)
            return "the list is out of order";
        walk->address = block->address;
        walk->blocks++;
    }
    return NULL;
}

static const char *check_node(struct walk *walk, uint32_t level, uint32_t id);

static const char *check_child(struct walk *walk, uint32_t level, uint32_t id, uint32_t i)
{
    const struct block_list *list = walk->list;
    const struct inner *inner = &list->inners[id];
    const struct place *place = place_of(list, level - 1, inner->child[i]);
    uint32_t child = inner->child[i];
    if (place->parent != id || place->slot != i)
        return "a node of the list has the wrong parent";
    uint64_t largest = largest_of(list, level - 1, child);
    if (inner->largest[i] < largest || inner->size[i] != short_size(list, inner->largest[i]))
        return "a node of the list has a wrong size bound for a child";
    uint64_t previous = walk->address;
    if (walk->ordered && i > 0 &&
        (short_key(list, block_list_lowest_address(list, level - 1, child)) < inner->key[i] ||
         (short_key(list, previous) >= inner->key[i] && inner->key[i] < SHORT_KEY)))
        return "a node of the list has a wrong address bound";
    return check_node(walk, level - 1, child);
}

static const char *check_node(struct walk *walk, uint32_t level, uint32_t id)
{
    if (level == 0)
        return check_leaf(walk, id);
    const struct inner *inner = &walk->list->inners[id];
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (i >= inner->count) {
            if (inner->size[i] != 0)
                return "a node of the list has a size without a child";
            continue;
        }
        uint32_t blocks = walk->blocks;
        const char *wrong = check_child(walk, level, id, i);
        if (wrong != NULL)
            return wrong;
        if (walk->blocks - blocks != inner_blocks(inner, level - 1, i))
            return "a node of the list miscounts its blocks";
    }
    return NULL;
}

const char *block_list_check(const struct block_list *list, bool ordered, bool offers)
{
    struct walk walk = {.list = list, .ordered = ordered, .offers = offers};
    const char *wrong = check_node(&walk, list->height, list->root);
    if (wrong == NULL && walk.blocks != list->blocks)
        wrong = "the list miscounts its blocks";
    return wrong;
}
