#include "user_policies/free_index.h"

#include <string.h>

#include "index/list/block_list_edit.h"
#include "space/table.h"

static bool is_list(const struct free_index *index)
{
    return index->order < BEST_LIFO;
}

/* Returns the order of equal blocks in an order by size. */
static enum bin_kind kind_of(const struct free_index *index)
{
    return index->sizes.tables.kind;
}

bool free_index_open(struct free_index *index, enum free_order order, uint64_t unit)
{
    memset(index, 0, sizeof *index);
    index->order = order;
    index->rover = NO_BLOCK;
    if (is_list(index))
        return block_list_init(&index->list, &index->shadow, unit);
    enum order of_equals = (enum order)(order - BEST_LIFO);
    return size_index_init(&index->sizes, &index->shadow, unit, of_equals, true);
}

void free_index_close(struct free_index *index)
{
    if (is_list(index))
        block_list_release(&index->list);
    else
        size_index_release(&index->sizes);
    heap_release(&index->shadow);
}

bool free_index_reserve(struct free_index *index, uint32_t capacity)
{
    struct heap *shadow = &index->shadow;
    if (!TABLE_FOLLOW(shadow->blocks, shadow->capacity, capacity))
        return false;
    return is_list(index) ? block_list_reserve(&index->list)
                          : size_index_reserve(&index->sizes, shadow->capacity);
}

static struct cursor place_to_enter(const struct free_index *index, uint64_t address)
{
    if (index->order == BY_ADDRESS)
        return block_list_position(&index->list, address);
    if (index->order != BY_AGE && index->rover != NO_BLOCK)
        return block_list_locate(index->shadow.blocks, index->rover);
    return block_list_back(&index->list);
}

static void insert_by_size(struct free_index *index, uint32_t id, uint64_t entered)
{
    uint64_t size = index->shadow.blocks[id].size;
    if (index->order != BEST_ADDRESS)
        index->sizes.tables.keys[id] = entered;
    size_index_insert_rest(&index->sizes, index->shadow.blocks, id, size, kind_of(index));
}

void free_index_insert(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered)
{
    for (struct heap *shadow = &index->shadow; shadow->used <= id; shadow->used++)
        shadow->blocks[shadow->used].index_slot = STATE_ALLOCATED;
    index->shadow.blocks[id] = (struct block){
        .address = block->address,
        .size = block->size,
        .index_slot = STATE_ALLOCATED, /* until the insertion below sets the block's place */
    };
    if (!is_list(index)) {
        insert_by_size(index, id, entered);
        return;
    }
    struct cursor at = place_to_enter(index, block->address);
    block_list_insert(&index->list, index->shadow.blocks, at, id, index->order == BY_ADDRESS);
    if (index->roving && (index->rover == NO_BLOCK || index->order == RING_LIFO))
        index->rover = id;
}

void free_index_remove(struct free_index *index, uint32_t id)
{
    if (!is_list(index)) {
        size_index_remove(&index->sizes, index->shadow.blocks, id, kind_of(index), true);
        return;
    }
    struct cursor at = block_list_locate(index->shadow.blocks, id);
    if (index->rover == id)
        index->rover = index->list.blocks > 1 ? block_list_following(&index->list, at) : NO_BLOCK;
    block_list_remove(&index->list, index->shadow.blocks, at);
}

void free_index_change(struct free_index *index, uint32_t id, const struct block *block,
                       uint64_t entered)
{
    struct block *copy = &index->shadow.blocks[id];
    uint64_t old = copy->size;
    if (!is_list(index)) {
        size_index_remove(&index->sizes, index->shadow.blocks, id, kind_of(index), true);
        free_index_insert(index, id, block, entered);
        return;
    }
    copy->address = block->address;
    copy->size = block->size;
    struct cursor at = block_list_locate(index->shadow.blocks, id);
    bool ordered = index->order == BY_ADDRESS;
    if (block->size < old)
        block_list_change(&index->list, at, block, GAVE_LOW_END, ordered);
    else
        block_list_change(&index->list, at, block, GREW_DOWN, ordered);
}

static uint64_t rank_of(const struct free_index *index, struct cursor at)
{
    return block_list_rank(&index->list, at);
}

struct found_block free_index_first(struct free_index *index, uint64_t size, uint32_t after,
                                    bool backwards)
{
    struct block_list *list = &index->list;
    uint64_t before = 0;
    struct cursor at;
    if (backwards) {
        at = block_list_last(list, size);
    } else if (after != NO_BLOCK) {
        struct cursor start = block_list_locate(index->shadow.blocks, after);
        before = rank_of(index, start) + 1;
        at = block_list_first_from(list, (struct cursor){start.leaf, start.slot + 1}, size);
    } else {
        at = block_list_first(list, size);
    }
    if (!found(at))
        return (struct found_block){NO_BLOCK, list->blocks - before};
    uint64_t rank = rank_of(index, at);
    return (struct found_block){block_at(list, at),
                                backwards ? list->blocks - rank : rank + 1 - before};
}

struct found_block free_index_next(struct free_index *index, uint64_t size)
{
    struct block_list *list = &index->list;
    if (!index->roving && list->blocks > 0)
        index->rover = block_at(list, block_list_first(list, UINT64_C(1) << list->granule));
    index->roving = true;
    if (index->rover == NO_BLOCK)
        return (struct found_block){NO_BLOCK, 0};
    struct cursor start = block_list_locate(index->shadow.blocks, index->rover);
    struct cursor at = block_list_first_around(list, start, size);
    if (!found(at))
        return (struct found_block){NO_BLOCK, list->blocks};
    index->rover = block_at(list, at);
    return (struct found_block){index->rover, block_list_distance(list, start, at) + UINT64_C(1)};
}

struct found_block free_index_largest(struct free_index *index, bool backwards)
{
    struct block_list *list = &index->list;
    struct found_block found = {NO_BLOCK, list->blocks};
    /* The bound of the list may be too high. A search that finds nothing lowers the bound. */
    while (list->blocks > 0 && found.block == NO_BLOCK) {
        uint64_t size = largest_of(list, list->height, list->root);
        found.block = free_index_first(index, size, NO_BLOCK, backwards).block;
    }
    return found;
}

uint32_t free_index_best(const struct free_index *index, uint64_t size)
{
    return size_index_best(&index->sizes, index->shadow.blocks, size).block;
}

void free_index_blocks(struct free_index *index, uint32_t *blocks)
{
    struct block_list *list = &index->list;
    if (list->blocks == 0)
        return;
    struct cursor at = block_list_first(list, UINT64_C(1) << list->granule);
    for (uint32_t i = 0; i < list->blocks; i++) {
        blocks[i] = block_at(list, at);
        at = block_list_locate(index->shadow.blocks, block_list_following(list, at));
    }
}

const char *free_index_check(const struct free_index *index, uint64_t listed)
{
    uint64_t blocks = listed;
    const char *wrong;
    if (is_list(index)) {
        wrong = block_list_check(&index->list, index->order == BY_ADDRESS, false);
        blocks = index->list.blocks;
        if (wrong == NULL && (index->rover == NO_BLOCK) != (blocks == 0 || !index->roving))
            wrong = "the rover is not on the list";
    } else {
        wrong = size_index_check(&index->sizes, listed);
    }
    return wrong != NULL || blocks == listed ? wrong : "an index misses a listed block";
}
