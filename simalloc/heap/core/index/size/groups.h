/* Free blocks in groups of one size, for families that have rules of their own among equals.
 *
 * One block of each group, its head, stands in the index by size; the others are chained in the
 * order in which they came, in state free. The first to enter is the head; when it leaves, the
 * caller says which of the others is next. */
#ifndef SIMALLOC_GROUPS_H
#define SIMALLOC_GROUPS_H

#include "index/chain.h"
#include "index/size/size_index.h"

enum heir { OLDEST_IS_HEAD, NEWEST_IS_HEAD };

/* Tables by block id, shared by several groups of a heap and by its chains. */
struct group_tables {
    struct links links;
    struct chain *others; /* other blocks of a head */
    uint32_t capacity;    /* number of entries of `others` */
};

struct groups {
    struct heap *heap;
    struct size_index heads;
    struct group_tables *tables;
    struct group_tables own; /* unless they are shared */
    uint32_t group_count;
    uint64_t block_count;
};

/* In memory that is zero, which does not move. The largest power of two in `unit` divides all sizes
 * of blocks. */
bool groups_init(struct groups *groups, struct heap *heap, uint64_t unit);
/* The same with tables that others have too, which release them. */
bool groups_init_sharing(struct groups *groups, struct heap *heap, uint64_t unit,
                         struct group_tables *tables);
void groups_release(struct groups *groups);
bool groups_reserve(struct groups *groups);
bool group_tables_reserve(struct group_tables *tables, uint32_t capacity);
void group_tables_release(struct group_tables *tables);
const char *groups_check(const struct groups *groups);

/* Makes another block of its group the head after one that has left. */
void groups_follow_head(struct groups *groups, uint32_t old, enum heir heir);

/* The head of the group of just this size, or NO_BLOCK. */
ALWAYS_INLINE uint32_t groups_find(const struct groups *groups, uint64_t size)
{
    struct sized found = size_index_exact(&groups->heads, size);
    if (LIKELY(found.bin < BINS))
        return found.block;
    found = size_index_best(&groups->heads, groups->heap->blocks, size);
    return found.size == size ? found.block : NO_BLOCK;
}

/* The head of the group of the smallest size of at least `size`, or NO_BLOCK. */
ALWAYS_INLINE uint32_t groups_best(const struct groups *groups, uint64_t size)
{
    return size_index_best(&groups->heads, groups->heap->blocks, size).block;
}

/* Returns the newest, or oldest, block of a head's group other than the head; the head if it is the
 * only block. */
ALWAYS_INLINE uint32_t groups_newest(const struct groups *groups, uint32_t head)
{
    uint32_t newest = groups->tables->others[head].newest;
    return newest == NO_BLOCK ? head : newest;
}

ALWAYS_INLINE uint32_t groups_oldest_other(const struct groups *groups, uint32_t head)
{
    uint32_t oldest = groups->tables->others[head].oldest;
    return oldest == NO_BLOCK ? head : oldest;
}

/* Enters a block, which is free from now on and counted. */
ALWAYS_INLINE void groups_insert(struct groups *groups, uint32_t id)
{
    struct heap *heap = groups->heap;
    uint64_t size = heap->blocks[id].size;
    uint32_t head = groups_find(groups, size);
    heap_count_free(heap, id);
    groups->block_count++;
    if (head != NO_BLOCK) {
        heap->blocks[id].index_slot = STATE_FREE;
        chain_push(&groups->tables->links, &groups->tables->others[head], id);
        return;
    }
    if (UNLIKELY(!size_tree_reserve(&groups->heads.tree))) {
        heap_fail(heap, OUT_OF_MEMORY);
        return;
    }
    groups->tables->others[id] = (struct chain){NO_BLOCK, NO_BLOCK, 0};
    groups->group_count++;
    size_index_insert(&groups->heads, heap->blocks, id, size, BIN_OLDEST, false);
}

/* Takes a block out; it is allocated then, and its bytes are not counted as such. */
ALWAYS_INLINE void groups_remove(struct groups *groups, uint32_t id, enum heir heir)
{
    struct heap *heap = groups->heap;
    struct block *block = &heap->blocks[id];
    heap->counters.free_blocks--;
    groups->block_count--;
    if (block->index_slot == STATE_FREE) {
        chain_remove(&groups->tables->links, &groups->tables->others[groups_find(groups, block->size)], id);
        block->index_slot = STATE_ALLOCATED;
        return;
    }
    size_index_remove(&groups->heads, heap->blocks, id, BIN_OLDEST, false);
    if (groups->tables->others[id].count == 0)
        groups->group_count--;
    else
        groups_follow_head(groups, id, heir);
    block->index_slot = STATE_ALLOCATED;
}

#endif
