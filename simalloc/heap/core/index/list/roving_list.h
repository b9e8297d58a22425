/* A circular list of free blocks with a rover. The caller keeps the rover, which is NO_BLOCK if the
 * list is empty.
 *
 * While searches visit few blocks the list is a ring that is walked, which is cheaper than a tree.
 * While they visit many it is a tree, which finds the same block and the number of visits. */
#ifndef SIMALLOC_ROVING_LIST_H
#define SIMALLOC_ROVING_LIST_H

#include "index/block_ring.h"
#include "index/list/block_list_edit.h"

/* ROVING_FAIR: visits that cost the same time as a search of the tree, including its upkeep.
 * ROVING_BEHIND and ROVING_BEHIND_A_BLOCK: visits, and visits for each block, by which a form must
 * be behind before it changes. */
enum { ROVING_FAIR = 8, ROVING_BEHIND = 1 << 10, ROVING_BEHIND_A_BLOCK = 4 };

struct roving_list {
    struct block_list tree;
    uint32_t count;
    bool is_tree;
    bool offers; /* true if a tree offers blocks that precede a free one */
    int64_t balance; /* visits that the other form would have saved; at least 0 */
};

/* In memory that is zero. The largest power of two in `unit` divides all sizes of blocks. */
void roving_list_init(struct roving_list *list, struct heap *heap, uint64_t unit);
void roving_list_release(struct roving_list *list);

/* Returns a description of the first fault in a list with `rover`, or NULL. */
const char *roving_list_check(const struct roving_list *list, uint32_t rover);

/* Makes the form that is due, of a list with this block; a tree only if there is memory for it and
 * one more block. */
void roving_list_make_form(struct roving_list *list, uint32_t rover);

/* The same as the functions below, for a tree, and where one should be made. */
void roving_list_insert_tree(struct roving_list *list, uint32_t id, uint32_t rover);
void roving_list_changed_tree(struct roving_list *list, uint32_t id);
uint32_t roving_list_before_tree(const struct roving_list *list, uint32_t id);
uint32_t roving_list_find_tree(struct roving_list *list, uint32_t from, uint64_t size,
                               uint64_t *visited);

ALWAYS_INLINE struct cursor roving_list_place(const struct roving_list *list, uint32_t id)
{
    return block_list_locate(list->tree.heap->blocks, id);
}

/* Notes how many blocks a search has visited. */
ALWAYS_INLINE void roving_list_note(struct roving_list *list, uint64_t visited)
{
    int64_t more = (int64_t)visited - ROVING_FAIR;
    list->balance += list->is_tree ? -more : more;
    if (list->balance < 0)
        list->balance = 0;
}

/* Returns whether the list should change its form. */
ALWAYS_INLINE bool roving_list_is_behind(const struct roving_list *list)
{
    return list->balance > ROVING_BEHIND + ROVING_BEHIND_A_BLOCK * (int64_t)list->count;
}

/* Makes a tree of a ring before a search of it, if searches have walked too far. */
ALWAYS_INLINE void roving_list_settle(struct roving_list *list, uint32_t from)
{
    if (UNLIKELY(!list->is_tree && roving_list_is_behind(list)))
        roving_list_make_form(list, from);
}

/* Puts a block just before the rover. */
ALWAYS_INLINE void roving_list_insert(struct roving_list *list, uint32_t id, uint32_t rover)
{
    if (UNLIKELY(list->is_tree || roving_list_is_behind(list)))
        roving_list_insert_tree(list, id, rover);
    else
        block_ring_insert(&rover, list->tree.heap->blocks, id, false);
    list->count++;
}

/* Takes a block out; it is allocated then. */
ALWAYS_INLINE void roving_list_remove(struct roving_list *list, uint32_t id)
{
    struct block *blocks = list->tree.heap->blocks;
    list->count--;
    if (UNLIKELY(list->is_tree))
        block_list_remove(&list->tree, blocks, roving_list_place(list, id));
    else
        block_ring_unlink(blocks, id);
}

/* The block after one, and before one; itself if it is the only one. */
ALWAYS_INLINE uint32_t roving_list_after(const struct roving_list *list, uint32_t id)
{
    return UNLIKELY(list->is_tree) ? block_list_following(&list->tree, roving_list_place(list, id))
                                   : list->tree.heap->blocks[id].family_data;
}

ALWAYS_INLINE uint32_t roving_list_before(const struct roving_list *list, uint32_t id)
{
    return UNLIKELY(list->is_tree) ? roving_list_before_tree(list, id)
                                   : list->tree.heap->blocks[id].index_slot;
}

/* Notes that a block has another size, or that none or another follows it in memory. */
ALWAYS_INLINE void roving_list_changed(struct roving_list *list, uint32_t id)
{
    if (UNLIKELY(list->is_tree))
        roving_list_changed_tree(list, id);
}

/* Returns the first block of at least `size` bytes on a walk around the ring from `from`, or
 * NO_BLOCK. Adds the visits to the count. */
ALWAYS_INLINE uint32_t roving_list_find(struct roving_list *list, uint32_t from, uint64_t size,
                                        uint64_t *visited)
{
    roving_list_settle(list, from);
    if (UNLIKELY(list->is_tree))
        return roving_list_find_tree(list, from, size, visited);
    const struct block *blocks = list->tree.heap->blocks;
    uint32_t id = from;
    uint64_t passed = 0;
    while (blocks[id].size < size && ++passed < list->count)
        id = blocks[id].family_data;
    bool found = passed < list->count;
    *visited += passed + found;
    roving_list_note(list, passed);
    return found ? id : NO_BLOCK;
}

#endif
