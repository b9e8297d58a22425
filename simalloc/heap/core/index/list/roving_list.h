/* Circular list of free blocks with a rover. The caller stores the rover, which is NO_BLOCK for an
 * empty list.
 *
 * If searches visit few blocks, the list is a ring that is walked, because a walk is faster than a
 * tree. If searches visit many blocks, the list is a tree, which finds the same block and the same
 * number of visits. */
#ifndef SIMALLOC_ROVING_LIST_H
#define SIMALLOC_ROVING_LIST_H

#include "index/block_ring.h"
#include "index/list/block_list_edit.h"

/* ROVING_FAIR is the number of visits that take as long as a search of the tree, including its
 * upkeep. ROVING_BEHIND and ROVING_BEHIND_A_BLOCK are the visits, and the visits per block, that a
 * form must lose before it changes. */
enum { ROVING_FAIR = 8, ROVING_BEHIND = 1 << 10, ROVING_BEHIND_A_BLOCK = 4 };

struct roving_list {
    struct block_list tree;
    uint32_t count;
    bool is_tree;
    bool offers; /* true if a tree offers each block before a free block */
    int64_t balance; /* visits that the other form would have saved; at least 0 */
};

/* Initialises a list whose memory is zero. The largest power of two in `unit` divides the size of
 * every block. */
void roving_list_init(struct roving_list *list, struct heap *heap, uint64_t unit);
void roving_list_release(struct roving_list *list);

/* Returns a description of the first fault in a list with `rover`, or NULL. */
const char *roving_list_check(const struct roving_list *list, uint32_t rover);

/* Changes the form if a change is due. `rover` is any block of the list. A tree is made only if
 * there is memory for it and for one more block. */
void roving_list_make_form(struct roving_list *list, uint32_t rover);

/* Slow paths of the functions below, for a tree or a ring that should become a tree. */
void roving_list_insert_tree(struct roving_list *list, uint32_t id, uint32_t rover);
void roving_list_changed_tree(struct roving_list *list, uint32_t id);
uint32_t roving_list_before_tree(const struct roving_list *list, uint32_t id);
uint32_t roving_list_find_tree(struct roving_list *list, uint32_t from, uint64_t size,
                               uint64_t *visited);

ALWAYS_INLINE struct cursor roving_list_place(const struct roving_list *list, uint32_t id)
{
    return block_list_locate(list->tree.heap->blocks, id);
}

/* Records the number of blocks that a search has visited. */
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

/* Changes a ring to a tree before a search, if searches have walked too far. */
ALWAYS_INLINE void roving_list_settle(struct roving_list *list, uint32_t from)
{
    if (UNLIKELY(!list->is_tree && roving_list_is_behind(list)))
        roving_list_make_form(list, from);
}

/* Inserts a block directly before the rover. */
ALWAYS_INLINE void roving_list_insert(struct roving_list *list, uint32_t id, uint32_t rover)
{
    if (UNLIKELY(list->is_tree || roving_list_is_behind(list)))
        roving_list_insert_tree(list, id, rover);
    else
        block_ring_insert(&rover, list->tree.heap->blocks, id, false);
    list->count++;
}

/* Removes a block and makes it allocated. */
ALWAYS_INLINE void roving_list_remove(struct roving_list *list, uint32_t id)
{
    struct block *blocks = list->tree.heap->blocks;
    list->count--;
    if (UNLIKELY(list->is_tree))
        block_list_remove(&list->tree, blocks, roving_list_place(list, id));
    else
        block_ring_unlink(blocks, id);
}

/* Return the block after or before a block, which is the block itself in a list of one block. */
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

/* Updates a block that has another size, or that is followed by another or no free block in
 * memory. */
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
