#include "index/size/groups.h"

bool groups_init_sharing(struct groups *groups, struct heap *heap, uint64_t unit,
                         struct group_tables *tables)
{
    groups->heap = heap;
    groups->tables = tables;
    return size_index_init(&groups->heads, heap, unit, ORDER_FIFO, false);
}

bool groups_init(struct groups *groups, struct heap *heap, uint64_t unit)
{
    return groups_init_sharing(groups, heap, unit, &groups->own);
}

void groups_release(struct groups *groups)
{
    size_index_release(&groups->heads);
    group_tables_release(&groups->own);
}

bool group_tables_reserve(struct group_tables *tables, uint32_t capacity)
{
    return TABLE_FOLLOW(tables->others, tables->capacity, capacity) &&
           links_reserve(&tables->links, capacity);
}

void group_tables_release(struct group_tables *tables)
{
    links_release(&tables->links);
    table_release(tables->others);
}

bool groups_reserve(struct groups *groups)
{
    uint32_t capacity = groups->heap->capacity;
    return group_tables_reserve(groups->tables, capacity) &&
           size_index_reserve(&groups->heads, capacity);
}

void groups_follow_head(struct groups *groups, uint32_t old, enum heir heir)
{
    struct heap *heap = groups->heap;
    struct chain others = groups->tables->others[old];
    uint32_t head = heir == NEWEST_IS_HEAD ? chain_pop_newest(&groups->tables->links, &others)
                                           : chain_pop_oldest(&groups->tables->links, &others);
    groups->tables->others[head] = others;
    size_index_insert(&groups->heads, heap->blocks, head, heap->blocks[head].size, BIN_OLDEST,
                      false);
}

/* Adds the number of blocks in a head's group to `met`. Returns a description of the first fault,
 * or NULL. */
static const char *check_others(const struct groups *groups, uint32_t head, uint64_t *met)
{
    const struct block *blocks = groups->heap->blocks;
    uint32_t count = 0;
    for (uint32_t id = groups->tables->others[head].newest; id != NO_BLOCK;
         id = groups->tables->links.of[id].older) {
        if (blocks[id].index_slot != STATE_FREE || blocks[id].size != blocks[head].size)
            return "a group holds a block that is not free or has another size";
        if (++count > groups->tables->others[head].count)
            return "a group has more blocks than it counts";
    }
    *met += count + 1;
    return count == groups->tables->others[head].count ? NULL : "a group has fewer blocks than it counts";
}

/* Adds the number of blocks in all groups of a segment to `met`. Returns a description of the first
 * fault, or NULL. */
static const char *check_segment(const struct groups *groups, uint32_t edge, uint64_t *met)
{
    const struct block *blocks = groups->heap->blocks;
    const char *wrong = NULL;
    for (uint32_t id = blocks[edge].next; id != edge && wrong == NULL; id = blocks[id].next)
        if (blocks[id].index_slot < STATE_FREE && groups_find(groups, blocks[id].size) == id)
            wrong = check_others(groups, id, met);
    return wrong;
}

const char *groups_check(const struct groups *groups)
{
    const struct heap *heap = groups->heap;
    uint64_t met = 0;
    const char *wrong = size_index_check(&groups->heads, groups->group_count);
    if (wrong == NULL)
        wrong = check_segment(groups, NO_BLOCK, &met);
    for (uint32_t i = 0; i < heap->segment_count && wrong == NULL; i++)
        wrong = check_segment(groups, heap->segments[i], &met);
    if (wrong == NULL && met != groups->block_count)
        wrong = "the groups miscount their blocks";
    return wrong;
}
