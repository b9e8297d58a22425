/* Free blocks in groups of equal size, for families with a rule for choosing among equal blocks.
 *
 * One block of each group, its head, is in the index by size. The other blocks are in a chain in
 * order of entry and have STATE_FREE. The first block to enter becomes the head. When the head is
 * removed, the caller chooses its successor (`heir`). */
#ifndef SIMALLOC_GROUPS_H
#define SIMALLOC_GROUPS_H

#include "index/chain.h"
#include "index/size/size_index.h"

enum heir { OLDEST_IS_HEAD, NEWEST_IS_HEAD };

/* Tables by block id, shared by several `groups` and by other chains of a heap. */
struct group_tables {
    struct links links;
    struct chain *others; /* by block id: chain of the other blocks of a head */
    uint32_t capacity;    /* number of entries of `others` */
};

struct groups {
    struct heap *heap;
    struct size_index heads;
    struct group_tables *tables;
    struct group_tables own; /* tables, unless they are shared */
    uint32_t group_count;
    uint64_t block_count;
};

/* Initialises groups in memory that is zero and does not move. The largest power of two in `unit`
 * divides the size of every block. */
bool groups_init(struct groups *groups, struct heap *heap, uint64_t unit);
/* Does the same as groups_init() with shared tables, which the caller releases. */
bool groups_init_sharing(struct groups *groups, struct heap *heap, uint64_t unit,
                         struct group_tables *tables);
void groups_release(struct groups *groups);
bool groups_reserve(struct groups *groups);
bool group_tables_reserve(struct group_tables *tables, uint32_t capacity);
void group_tables_release(struct group_tables *tables);
const char *groups_check(const struct groups *groups);

/* Makes another block of a group its head after the head `old` was removed. */
void groups_follow_head(struct groups *groups, uint32_t old, enum heir heir);

/* Returns the head of the group with exactly this size, or NO_BLOCK. */
ALWAYS_INLINE uint32_t groups_find(const struct groups *groups, uint64_t size)
{
    struct sized found = size_index_exact(&groups->heads, size);
    if (LIKELY(found.bin < BINS))
        return found.block;
    found = size_index_best(&groups->heads, groups->heap->blocks, size);
    return found.size == size ? found.block : NO_BLOCK;
}

/* Returns the head of the group with the smallest sufficient size, or NO_BLOCK. */
ALWAYS_INLINE uint32_t groups_best(const struct groups *groups, uint64_t size)
{
    return size_index_best(&groups->heads, groups->heap->blocks, size).block;
}

/* Returns the newest or the oldest block of a head's group other than the head. Returns the head if
 * it is the only block. */
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

/* Inserts a block and counts it as free. */
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

/* Removes a block. Its state becomes STATE_ALLOCATED, but its bytes are not counted as
 * allocated. */
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
