/* Free blocks in numbered bins: which bins there are blocks in, and the first of each.
 *
 * Two levels of bitmaps find the lowest bin, from a given one up, that is not empty. What a bin is
 * besides its first block is said in bin_list.h and bin_heap.h. */
#ifndef SIMALLOC_BIN_SET_H
#define SIMALLOC_BIN_SET_H

#include "mechanism.h"

enum { BIN_GROUPS = 4, BIN_WORDS = 64 * BIN_GROUPS, BINS = 64 * BIN_WORDS };

/* What a block of a heap is linked to beside its backward link. */
struct link {
    uint32_t child;   /* leftmost, none with a lower key than this block; or NO_BLOCK */
    uint32_t sibling; /* to the right, or NO_BLOCK */
};

struct bin_set {
    enum order order;
    bool heaps;         /* the bins are heaps and need links; otherwise lists */
    bool keyed;         /* the order is one of entry, and needs the times of it */
    struct link *links; /* by block id */
    uint64_t *keys;     /* by block id */
    uint32_t capacity;  /* of both */
    uint32_t latest;    /* the block for which a place in time was looked for last, or NO_BLOCK */
    uint64_t groups[BIN_GROUPS]; /* bit w of group g: words[64 * g + w] is not 0 */
    uint64_t words[BIN_WORDS];   /* bit b of word w: bin 64 * w + b is not empty */
    uint32_t first[BINS];        /* NO_BLOCK: the bin is empty */
};

/* Empty bins, in memory that is zero: most of it is never used, and best not touched. */
ALWAYS_INLINE void bin_set_init(struct bin_set *set, enum order order, bool heaps, bool keyed)
{
    set->order = order;
    set->heaps = heaps;
    set->keyed = keyed;
}

void bin_set_release(struct bin_set *set);
bool bin_set_grow_tables(struct bin_set *set, uint32_t capacity);

/* Makes sure that the tables have an entry for every id of a block table; false when memory is
 * exhausted. */
ALWAYS_INLINE bool bin_set_reserve(struct bin_set *set, uint32_t capacity)
{
    return LIKELY(set->capacity == capacity) || bin_set_grow_tables(set, capacity);
}

/* Which bin a block of `size` bytes belongs in, for bin_set_check(). */
typedef uint32_t bin_of_function(const void *context, uint64_t size);

/* Answers what is wrong with the bins, which should hold so many blocks, or NULL. */
const char *bin_set_check(const struct bin_set *set, const struct block *blocks,
                          bin_of_function *bin_of, const void *context, uint64_t count);

/* What the check of one bin, a list or a heap, is told and notes. */
struct bin_check {
    const struct bin_set *set;
    const struct block *blocks;
    bin_of_function *bin_of;
    const void *context;
    uint32_t bin;
    uint64_t met; /* blocks, in all bins so far */
};

/* Meets a block of the bin; answers what is wrong with it by itself, or NULL. */
const char *bin_check_meet(struct bin_check *check, uint32_t block);

/* The word that holds the lowest bin that is not empty behind word `word`, or BIN_WORDS. */
ALWAYS_INLINE uint32_t bin_set_word_behind(const struct bin_set *set, uint32_t word)
{
    uint32_t group = word / 64;
    uint64_t bits = set->groups[group] & UINT64_MAX << 1 << word % 64;
    while (UNLIKELY(bits == 0)) {
        if (++group == BIN_GROUPS)
            return BIN_WORDS;
        bits = set->groups[group];
    }
    return 64 * group + (uint32_t)__builtin_ctzll(bits);
}

/* The lowest bin from `from` up that is not empty, or BINS. */
ALWAYS_INLINE uint32_t bin_set_from(const struct bin_set *set, uint32_t from)
{
    uint32_t word = from / 64;
    uint64_t bits = set->words[word] & (UINT64_MAX << (from % 64));
    if (bits == 0) {
        word = bin_set_word_behind(set, word);
        if (word == BIN_WORDS)
            return BINS;
        bits = set->words[word];
    }
    return 64 * word + (uint32_t)__builtin_ctzll(bits);
}

ALWAYS_INLINE void bin_set_mark_used(struct bin_set *set, uint32_t bin)
{
    set->words[bin / 64] |= UINT64_C(1) << bin % 64;
    set->groups[bin / 64 / 64] |= UINT64_C(1) << bin / 64 % 64;
}

ALWAYS_INLINE void bin_set_mark_empty(struct bin_set *set, uint32_t bin)
{
    set->words[bin / 64] &= ~(UINT64_C(1) << bin % 64);
    if (set->words[bin / 64] == 0)
        set->groups[bin / 64 / 64] &= ~(UINT64_C(1) << bin / 64 % 64);
}

#endif
