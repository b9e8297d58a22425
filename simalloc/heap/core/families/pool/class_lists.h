/* Free blocks in lists by size, with a fixed number of lists for each doubling. A bitmap of the
 * non-empty lists finds the lowest non-empty list from a number on without a search.
 *
 * The caller defines the key of a block: the bytes in it, or a number of units. `grain` and
 * `division` are powers of two. Keys below grain * division have a list for each multiple of the
 * grain. Above, each doubling has `division` lists of equal width. */
#ifndef SIMALLOC_CLASS_LISTS_H
#define SIMALLOC_CLASS_LISTS_H

#include "index/block_ring.h"

enum { MAX_DIVISION = 32, CLASS_LEVELS = 64, NO_CLASS = CLASS_LEVELS * MAX_DIVISION };

struct class_lists {
    struct heap *heap;
    unsigned grain, division;        /* log2 of the grain and of the division */
    uint64_t levels;                 /* bit l is set if a list of level l has a block */
    uint32_t in_level[CLASS_LEVELS]; /* bit i is set if list i of the level has a block */
    uint32_t fronts[NO_CLASS];       /* front of each list, a ring, or NO_BLOCK */
};

/* Returns the number of the list for a key. */
ALWAYS_INLINE unsigned class_of(const struct class_lists *lists, uint64_t key)
{
    unsigned division = lists->division, least = lists->grain + division;
    if (key >> least == 0)
        return (unsigned)(key >> lists->grain);
    unsigned power = 63 - (unsigned)__builtin_clzll(key);
    return ((power - least) << division) + (unsigned)(key >> (power - division));
}

/* Returns the smallest key of a list. */
ALWAYS_INLINE uint64_t class_begin(const struct class_lists *lists, unsigned class)
{
    unsigned level = class >> lists->division;
    if (level < 2)
        return (uint64_t)class << lists->grain;
    uint64_t in_level = class & ((1U << lists->division) - 1);
    return (in_level + (UINT64_C(1) << lists->division)) << (lists->grain + level - 1);
}

/* Returns the smallest key at which a list begins and that is at least `key`. */
ALWAYS_INLINE uint64_t class_round_up(const struct class_lists *lists, uint64_t key)
{
    unsigned class = class_of(lists, key);
    return class_begin(lists, class) == key ? key : class_begin(lists, class + 1);
}

/* Returns the first non-empty list from number `from` on, or NO_CLASS. */
ALWAYS_INLINE unsigned class_with_block(const struct class_lists *lists, unsigned from)
{
    unsigned level = from >> lists->division;
    uint32_t bits = lists->in_level[level] & UINT32_MAX << (from & ((1U << lists->division) - 1));
    if (bits == 0) {
        uint64_t higher = lists->levels & UINT64_MAX << 1 << level;
        if (higher == 0)
            return NO_CLASS;
        level = (unsigned)__builtin_ctzll(higher);
        bits = lists->in_level[level];
    }
    return (level << lists->division) + (unsigned)__builtin_ctz(bits);
}

/* Returns the last non-empty list, or NO_CLASS. */
ALWAYS_INLINE unsigned class_last(const struct class_lists *lists)
{
    if (lists->levels == 0)
        return NO_CLASS;
    unsigned level = 63 - (unsigned)__builtin_clzll(lists->levels);
    return (level << lists->division) + 31 - (unsigned)__builtin_clz(lists->in_level[level]);
}

/* Inserts a waste block at the front or the end of its list. */
ALWAYS_INLINE void class_enter(struct class_lists *lists, uint32_t id, uint64_t key, bool in_front)
{
    struct heap *heap = lists->heap;
    unsigned class = class_of(lists, key), level = class >> lists->division;
    block_ring_insert(&lists->fronts[class], heap->blocks, id, in_front);
    lists->in_level[level] |= UINT32_C(1) << (class & ((1U << lists->division) - 1));
    lists->levels |= UINT64_C(1) << level;
    heap_count_free(heap, id);
}

/* Removes a block, which becomes waste. Returns the block after it, or NO_BLOCK if the list is then
 * empty. */
ALWAYS_INLINE uint32_t class_leave(struct class_lists *lists, uint32_t id, uint64_t key)
{
    struct heap *heap = lists->heap;
    unsigned class = class_of(lists, key), level = class >> lists->division;
    uint32_t behind = heap->blocks[id].family_data;
    bool is_empty = block_ring_remove(&lists->fronts[class], heap->blocks, id);
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->counters.free_blocks--;
    if (!is_empty)
        return behind;
    lists->in_level[level] &= ~(UINT32_C(1) << (class & ((1U << lists->division) - 1)));
    if (lists->in_level[level] == 0)
        lists->levels &= ~(UINT64_C(1) << level);
    return NO_BLOCK;
}

/* Returns the size of the largest block, or 0. */
uint64_t class_lists_largest(const struct class_lists *lists);

/* Returns the number of blocks in the lists. Returns UINT64_MAX if the bit of a list is wrong or a
 * block is in a wrong list. */
uint64_t class_lists_count(const struct class_lists *lists,
                           uint64_t (*key_of)(const struct heap *heap, uint32_t id));

#endif
