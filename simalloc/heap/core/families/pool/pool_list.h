/* List of the free blocks of a pool, by address or by size, which is searched from its front.
 *
 * The list is the tree of index/list/block_list.h. It finds the result of a walk along the list,
 * and the number of its visits, without walking. */
#ifndef SIMALLOC_POOL_LIST_H
#define SIMALLOC_POOL_LIST_H

#include "families/pool/pool.h"
#include "index/list/block_list_edit.h"

struct pool_list {
    struct block_list tree;
};

/* Initialises an empty list. `unit` divides the size of every block. Returns false if memory is
 * exhausted. */
ALWAYS_INLINE bool pool_list_init(struct pool_list *list, struct heap *heap, uint64_t unit)
{
    return block_list_init(&list->tree, heap, unit) && block_list_reserve(&list->tree);
}

ALWAYS_INLINE bool pool_list_reserve(struct pool_list *list, struct heap *heap)
{
    return heap_reserve(heap) && block_list_reserve(&list->tree);
}

/* Inserts a waste block by its address. */
ALWAYS_INLINE void pool_list_enter(struct pool_list *list, uint32_t id)
{
    struct heap *heap = list->tree.heap;
    struct cursor at = block_list_position(&list->tree, heap->blocks[id].address);
    block_list_insert(&list->tree, heap->blocks, at, id, true);
    heap_count_free(heap, id);
}

/* Inserts a waste block by its size, before blocks of equal size. Returns the number of blocks
 * before it. A list is either by address or by size. */
ALWAYS_INLINE uint64_t pool_list_enter_by_size(struct pool_list *list, uint32_t id)
{
    struct heap *heap = list->tree.heap;
    struct cursor at = block_list_first(&list->tree, heap->blocks[id].size);
    if (!found(at))
        at = block_list_back(&list->tree);
    uint64_t before = block_list_rank(&list->tree, at);
    block_list_insert(&list->tree, heap->blocks, at, id, false);
    heap_count_free(heap, id);
    return before;
}

/* Removes a block, which becomes waste. */
ALWAYS_INLINE void pool_list_leave(struct pool_list *list, uint32_t id)
{
    struct heap *heap = list->tree.heap;
    block_list_remove(&list->tree, heap->blocks, block_list_locate(heap->blocks, id));
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.free_blocks--;
}

/* Cuts the low `size` bytes off a listed block and returns them as waste. The remainder keeps its
 * place in the list. */
ALWAYS_INLINE uint32_t pool_list_cut(struct pool_list *list, uint32_t id, uint64_t size)
{
    struct heap *heap = list->tree.heap;
    uint32_t low = heap_cut_low(heap, id, size);
    heap->blocks[low].index_slot = STATE_WASTE;
    heap->counters.splits++;
    block_list_change(&list->tree, block_list_locate(heap->blocks, id), &heap->blocks[id],
                      GAVE_LOW_END, true);
    return low;
}

/* Returns the first block with at least `size` bytes, or NO_BLOCK. Sets `visited` to the visits of
 * a walk. */
ALWAYS_INLINE uint32_t pool_list_first(struct pool_list *list, uint64_t size,
                                          uint64_t *visited)
{
    struct cursor at = block_list_first(&list->tree, size);
    *visited = found(at) ? block_list_rank(&list->tree, at) + 1 : list->tree.blocks;
    return found(at) ? block_at(&list->tree, at) : NO_BLOCK;
}

/* Returns the number of blocks that a walk visits before the place of an address. */
ALWAYS_INLINE uint64_t pool_list_rank(const struct pool_list *list, uint64_t address)
{
    return block_list_rank(&list->tree, block_list_position(&list->tree, address));
}

/* Loops over all blocks in list order, with the block in `id`. */
#define POOL_LIST_EACH(list, id)                                                          \
    for (uint32_t left_ = (list)->tree.blocks,                                               \
                  id = left_ > 0 ? pool_list_front(list) : NO_BLOCK;                      \
         left_ > 0; left_--, id = pool_list_behind(list, id))

ALWAYS_INLINE uint32_t pool_list_front(const struct pool_list *list)
{
    uint64_t least = UINT64_C(1) << list->tree.granule; /* an empty slot has size 0 */
    return block_at(&list->tree, block_list_first((struct block_list *)&list->tree, least));
}

/* Returns the block after `id`; the first block follows the last. */
ALWAYS_INLINE uint32_t pool_list_behind(const struct pool_list *list, uint32_t id)
{
    return block_list_following(&list->tree,
                                block_list_locate(list->tree.heap->blocks, id));
}

#endif
