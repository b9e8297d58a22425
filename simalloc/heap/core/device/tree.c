#include "tree.h"

#include <stdlib.h>

static bool is_before(const struct tree *tree, const struct block *block, struct place place)
{
    if (block->stream != place.stream)
        return block->stream < place.stream;
    if (!tree->by_address && block->size != place.size)
        return block->size < place.size;
    return block->address < place.address;
}

struct place tree_place(const struct blocks *blocks, uint32_t id)
{
    const struct block *block = &blocks->table[id];
    return (struct place){block->size, block->address, block->stream};
}

void tree_insert(struct tree *tree, struct blocks *blocks, uint32_t id)
{
    struct block *table = blocks->table;
    struct place place = tree_place(blocks, id);
    uint32_t *link = &tree->root;
    while (*link != NO_BLOCK && table[*link].priority >= table[id].priority)
        link = is_before(tree, &table[*link], place) ? &table[*link].right : &table[*link].left;
    uint32_t below = *link;
    *link = id;
    /* What was here is split into what lies before the block and what behind it. */
    uint32_t *before = &table[id].left, *behind = &table[id].right;
    while (below != NO_BLOCK) {
        if (is_before(tree, &table[below], place)) {
            *before = below;
            before = &table[below].right;
            below = *before;
        } else {
            *behind = below;
            behind = &table[below].left;
            below = *behind;
        }
    }
    *before = *behind = NO_BLOCK;
    tree->count++;
}

void tree_remove(struct tree *tree, struct blocks *blocks, uint32_t id)
{
    struct block *table = blocks->table;
    struct place place = tree_place(blocks, id);
    uint32_t *link = &tree->root;
    while (*link != id)
        link = is_before(tree, &table[*link], place) ? &table[*link].right : &table[*link].left;
    uint32_t left = table[id].left, right = table[id].right;
    while (left != NO_BLOCK && right != NO_BLOCK) {
        if (table[left].priority >= table[right].priority) {
            *link = left;
            link = &table[left].right;
            left = *link;
        } else {
            *link = right;
            link = &table[right].left;
            right = *link;
        }
    }
    *link = left != NO_BLOCK ? left : right;
    tree->count--;
}

uint32_t tree_first(const struct tree *tree, const struct blocks *blocks, struct place place)
{
    uint32_t found = NO_BLOCK;
    for (uint32_t at = tree->root; at != NO_BLOCK;) {
        const struct block *block = &blocks->table[at];
        if (is_before(tree, block, place)) {
            at = block->right;
        } else {
            found = at;
            at = block->left;
        }
    }
    return found;
}

uint32_t tree_last_before(const struct tree *tree, const struct blocks *blocks,
                          struct place place)
{
    uint32_t found = NO_BLOCK;
    for (uint32_t at = tree->root; at != NO_BLOCK;) {
        const struct block *block = &blocks->table[at];
        if (is_before(tree, block, place)) {
            found = at;
            at = block->right;
        } else {
            at = block->left;
        }
    }
    return found;
}

uint32_t tree_next(const struct tree *tree, const struct blocks *blocks, uint32_t id)
{
    struct place place = tree_place(blocks, id);
    place.address++;
    return tree_first(tree, blocks, place);
}

uint32_t *tree_list(const struct tree *tree, const struct blocks *blocks)
{
    uint32_t *list = malloc(((size_t)tree->count + 1) * sizeof *list);
    if (list == NULL)
        return NULL;
    uint32_t at = tree_first(tree, blocks, (struct place){0});
    for (size_t i = 0; at != NO_BLOCK; i++) {
        list[i] = at;
        at = tree_next(tree, blocks, at);
    }
    return list;
}
