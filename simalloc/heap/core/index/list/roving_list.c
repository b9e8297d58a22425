#include "index/list/roving_list.h"

void roving_list_init(struct roving_list *list, struct heap *heap, uint64_t unit)
{
    list->tree.heap = heap;
    list->tree.granule = (unsigned)__builtin_ctzll(unit);
}

void roving_list_release(struct roving_list *list)
{
    block_list_release(&list->tree);
}

static struct cursor place(const struct roving_list *list, uint32_t id)
{
    return roving_list_place(list, id);
}

void roving_list_changed_tree(struct roving_list *list, uint32_t id)
{
    const struct heap *heap = list->tree.heap;
    block_list_change(&list->tree, place(list, id), &heap->blocks[id], GREW_UP, false);
    if (list->offers && heap_is_free(heap, heap->blocks[id].next))
        block_list_offer(&list->tree, place(list, id));
}

/* Changes the ring to a tree, if there is memory for the tree. */
static void make_tree(struct roving_list *list, uint32_t rover)
{
    struct block_list *tree = &list->tree;
    struct block *blocks = tree->heap->blocks;
    if (!block_list_reserve_for(tree, list->count))
        return;
    block_list_clear(tree);
    uint32_t id = rover;
    do {
        block_list_insert(tree, blocks, block_list_back(tree), id, false);
        roving_list_changed_tree(list, id);
        id = blocks[id].family_data;
    } while (id != rover);
    list->is_tree = true;
}

/* Changes the tree to a ring. */
static void make_ring(struct roving_list *list, uint32_t rover)
{
    struct block *blocks = list->tree.heap->blocks;
    uint32_t front = NO_BLOCK;
    uint32_t id = rover;
    for (uint32_t left = list->count; left > 0; left--) {
        uint32_t next = block_list_following(&list->tree, place(list, id));
        block_ring_insert(&front, blocks, id, false);
        id = next;
    }
    list->is_tree = false;
}

void roving_list_make_form(struct roving_list *list, uint32_t rover)
{
    bool behind = roving_list_is_behind(list);
    if (list->is_tree && (behind || rover == NO_BLOCK || !block_list_reserve(&list->tree)))
        make_ring(list, rover);
    else if (!list->is_tree && behind && rover != NO_BLOCK)
        make_tree(list, rover);
    if (behind)
        list->balance = 0;
}

void roving_list_insert_tree(struct roving_list *list, uint32_t id, uint32_t rover)
{
    struct block *blocks = list->tree.heap->blocks;
    roving_list_make_form(list, rover);
    if (list->is_tree)
        block_list_insert(&list->tree, blocks, place(list, rover), id, false);
    else
        block_ring_insert(&rover, blocks, id, false);
}

uint32_t roving_list_before_tree(const struct roving_list *list, uint32_t id)
{
    struct cursor before = block_list_preceding(&list->tree, place(list, id));
    return block_at(&list->tree, before);
}

uint32_t roving_list_find_tree(struct roving_list *list, uint32_t from, uint64_t size,
                               uint64_t *visited)
{
    struct cursor start = place(list, from);
    struct cursor at = block_list_first_around(&list->tree, start, size);
    uint64_t passed = found(at) ? block_list_distance(&list->tree, start, at) : list->count;
    *visited += passed + found(at);
    roving_list_note(list, passed);
    return found(at) ? block_at(&list->tree, at) : NO_BLOCK;
}

static const char *check_ring(const struct roving_list *list, uint32_t rover)
{
    const struct block *blocks = list->tree.heap->blocks;
    uint32_t id = rover;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!is_free(&blocks[id]))
            return "a block of the list is not free";
        if (blocks[blocks[id].family_data].index_slot != id)
            return "a block of the list has the wrong predecessor";
        id = blocks[id].family_data;
    }
    return id == rover ? NULL : "the list does not end where it begins";
}

static const char *check_tree(const struct roving_list *list, uint32_t rover)
{
    const struct heap *heap = list->tree.heap;
    const char *wrong = block_list_check(&list->tree, false, list->offers);
    if (wrong == NULL && list->tree.blocks != list->count)
        wrong = "the list miscounts its blocks";
    uint32_t id = rover;
    for (uint32_t i = 0; i < list->count && wrong == NULL; i++) {
        if (list->offers && heap_is_free(heap, heap->blocks[id].next) &&
            !block_list_is_offered(&list->tree, place(list, id)))
            wrong = "a block that precedes a free block is not offered to searches";
        id = block_list_following(&list->tree, place(list, id));
    }
    return wrong != NULL || id == rover ? wrong : "the rover is not on the list";
}

const char *roving_list_check(const struct roving_list *list, uint32_t rover)
{
    if ((rover == NO_BLOCK) != (list->count == 0))
        return "the list is empty but has a rover, or is not empty but has none";
    return list->is_tree ? check_tree(list, rover) : check_ring(list, rover);
}
