#include "index/pages/runs.h"

#include "index/list/block_list_edit.h"

bool runs_init(struct runs *runs, struct heap *heap, uint64_t page)
{
    return block_list_init(&runs->list, heap, page);
}

void runs_release(struct runs *runs)
{
    block_list_release(&runs->list);
}

static struct cursor place(const struct runs *runs, uint32_t id)
{
    return block_list_locate(runs->list.heap->blocks, id);
}

static struct cursor lowest(struct runs *runs)
{
    return block_list_first(&runs->list, UINT64_C(1) << runs->list.granule);
}

uint32_t runs_highest(const struct runs *runs)
{
    if (runs->list.blocks == 0)
        return NO_BLOCK;
    struct cursor back = block_list_back(&runs->list);
    return block_at(&runs->list, (struct cursor){back.leaf, back.slot - 1});
}

uint32_t runs_next(const struct runs *runs, uint32_t id)
{
    if (runs->list.blocks == 0 || id == runs_highest(runs))
        return NO_BLOCK;
    if (id == NO_BLOCK)
        id = runs_highest(runs);
    return block_list_following(&runs->list, place(runs, id));
}

uint32_t runs_find(struct runs *runs, uint32_t from, uint64_t size, uint64_t *visited)
{
    struct block_list *list = &runs->list;
    if (list->blocks == 0)
        return NO_BLOCK;
    struct cursor start = from == NO_BLOCK ? lowest(runs) : place(runs, from);
    struct cursor at = block_list_first_around(list, start, size);
    if (!found(at)) {
        *visited += list->blocks;
        return NO_BLOCK;
    }
    *visited += block_list_distance(list, start, at) + 1;
    return block_at(list, at);
}

void runs_remove(struct runs *runs, uint32_t id)
{
    struct heap *heap = runs->list.heap;
    block_list_remove(&runs->list, heap->blocks, place(runs, id));
    heap->counters.free_blocks--;
}

static void insert(struct runs *runs, uint32_t id)
{
    struct block_list *list = &runs->list;
    struct heap *heap = list->heap;
    if (!heap_needs(heap, block_list_reserve(list)))
        return;
    block_list_insert(list, heap->blocks, block_list_position(list, heap->blocks[id].address), id,
                      true);
    heap_count_free(heap, id);
}

static void change(struct runs *runs, uint32_t id, enum change change)
{
    block_list_change(&runs->list, place(runs, id), &runs->list.heap->blocks[id], change, true);
}

uint32_t runs_free(struct runs *runs, uint32_t id)
{
    struct heap *heap = runs->list.heap;
    uint32_t above = heap->blocks[id].next;
    uint32_t below = heap->blocks[id].previous;
    bool high = heap_is_free(heap, above);
    bool low = heap_is_free(heap, below);
    heap->counters.coalescings += (uint64_t)low + high;
    if (low) {
        if (high) {
            runs_remove(runs, above);
            heap_join_next(heap, id);
        }
        heap_join_next(heap, below);
        change(runs, below, GREW_UP);
        return below;
    }
    if (high) {
        heap_join_previous(heap, above);
        change(runs, above, GREW_DOWN);
        return above;
    }
    insert(runs, id);
    return id;
}

uint32_t runs_take(struct runs *runs, uint32_t id, uint64_t size, uint32_t *rest)
{
    struct heap *heap = runs->list.heap;
    if (heap->blocks[id].size == size) {
        runs_remove(runs, id);
        *rest = NO_BLOCK;
        return id;
    }
    heap->counters.splits++;
    *rest = id;
    uint32_t taken = heap_cut_low(heap, id, size);
    change(runs, id, GAVE_LOW_END);
    return taken;
}

void runs_resized(struct runs *runs, uint32_t id)
{
    change(runs, id, GREW_UP);
}

const char *runs_check(const struct runs *runs)
{
    const struct heap *heap = runs->list.heap;
    const char *wrong = block_list_check(&runs->list, true, false);
    if (wrong == NULL && runs->list.blocks != heap->counters.free_blocks)
        wrong = "the list of runs does not hold exactly the free blocks";
    for (uint32_t id = runs_next(runs, NO_BLOCK); id != NO_BLOCK && wrong == NULL;
         id = runs_next(runs, id))
        if (heap_is_free(heap, heap->blocks[id].next))
            wrong = "two free runs are adjacent";
    return wrong;
}
