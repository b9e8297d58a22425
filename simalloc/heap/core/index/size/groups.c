#include "index/size/groups.h"

bool groups_init(struct groups *groups, struct heap *heap, uint64_t unit)
{
    groups->heap = heap;
    return size_index_init(&groups->heads, heap, unit, ORDER_FIFO, false);
}

void groups_release(struct groups *groups)
{
    size_index_release(&groups->heads);
    links_release(&groups->links);
    table_release(groups->others);
}

bool groups_reserve(struct groups *groups)
{
    uint32_t capacity = groups->heap->capacity;
    if (UNLIKELY(groups->capacity != capacity)) {
        struct chain *others =
            table_resize(groups->others, sizeof *others, groups->capacity, capacity);
        if (others == NULL)
            return false;
        groups->others = others;
        groups->capacity = capacity;
    }
    return links_reserve(&groups->links, capacity) &&
           size_index_reserve(&groups->heads, capacity);
}

void groups_follow_head(struct groups *groups, uint32_t old, enum heir heir)
{
    struct heap *heap = groups->heap;
    struct chain others = groups->others[old];
    uint32_t head = heir == NEWEST_IS_HEAD ? chain_pop_newest(&groups->links, &others)
                                           : chain_pop_oldest(&groups->links, &others);
    groups->others[head] = others;
    size_index_insert(&groups->heads, heap->blocks, head, heap->blocks[head].size, BIN_OLDEST,
                      false);
}

/* What is wrong with the blocks behind a head, which are counted, or NULL. */
static const char *check_others(const struct groups *groups, uint32_t head, uint64_t *met)
{
    const struct block *blocks = groups->heap->blocks;
    uint32_t count = 0;
    for (uint32_t id = groups->others[head].newest; id != NO_BLOCK;
         id = groups->links.of[id].older) {
        if (blocks[id].index_slot != STATE_FREE || blocks[id].size != blocks[head].size)
            return "a group holds a block that is not free or has another size";
        if (++count > groups->others[head].count)
            return "a group has more blocks than it counts";
    }
    *met += count + 1;
    return count == groups->others[head].count ? NULL : "a group has fewer blocks than it counts";
}

const char *groups_check(const struct groups *groups)
{
    const struct heap *heap = groups->heap;
    uint64_t met = 0;
    const char *wrong = size_index_check(&groups->heads, groups->group_count);
    for (uint32_t id = heap_first(heap); id != NO_BLOCK && wrong == NULL;
         id = heap->blocks[id].next)
        if (heap->blocks[id].index_slot < STATE_FREE)
            wrong = check_others(groups, id, &met);
    if (wrong == NULL && met != groups->block_count)
        wrong = "the groups miscount their blocks";
    return wrong;
}
