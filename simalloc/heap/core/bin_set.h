/* Free blocks in numbered bins, in each the block with the lowest key first.
 *
 * Two levels of bitmaps find the lowest bin, from a given one up, that is not empty. A bin is a
 * pairing heap: the first block is at hand, one that enters or leaves costs amortised O(log n) in
 * the blocks of its bin. One that comes after the latest that entered goes below that, and one that
 * comes before all others above them; so a bin of an order by time is a chain, and both cost O(1).
 *
 * A block's `home` is the heap's backward link: HOME_LOOSE in the first block of a bin, otherwise
 * the left sibling or, of a leftmost child, the parent. */
#ifndef SIMALLOC_BIN_SET_H
#define SIMALLOC_BIN_SET_H

#include "heap.h"

enum { BIN_GROUPS = 4, BIN_WORDS = 64 * BIN_GROUPS, BINS = 64 * BIN_WORDS };

struct link {
    uint64_t key;
    uint32_t child;   /* leftmost, none with a lower key than this block; or NO_BLOCK */
    uint32_t sibling; /* to the right, or NO_BLOCK */
};

struct bin {
    uint32_t first; /* NO_BLOCK: the bin is empty */
    uint32_t last;  /* a block of the bin, where later ones join it; NO_BLOCK: the first is the only
                       one, and of its link nothing is set but the key */
};

struct bin_set {
    struct link *links; /* by block id; a block in no bin has none */
    uint32_t capacity;  /* of links */
    uint64_t groups[BIN_GROUPS]; /* bit w of group g: words[64 * g + w] is not 0 */
    uint64_t words[BIN_WORDS];   /* bit b of word w: bin 64 * w + b is not empty */
    struct bin bins[BINS];
};

/* Bins in memory that is zero are empty: most of it is never used, and best not touched. */
void bin_set_release(struct bin_set *set);
bool bin_set_grow_table(struct bin_set *set, uint32_t capacity);

/* Which bin a block of `size` bytes belongs in, for bin_set_check(). */
typedef uint32_t bin_of_function(const void *context, uint64_t size);
const char *bin_set_check(const struct bin_set *set, const struct block *blocks,
                          bin_of_function *bin_of, const void *context, uint64_t count);

/* Merges the children of a block that leaves into one heap; answers its first block. */
uint32_t bin_set_combine(struct bin_set *set, struct block *blocks, uint32_t child);

/* Makes sure that there is a link for every id of a block table; false when memory is exhausted. */
ALWAYS_INLINE bool bin_set_reserve(struct bin_set *set, uint32_t capacity)
{
    return LIKELY(set->capacity == capacity) || bin_set_grow_table(set, capacity);
}

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

/* Makes a block the leftmost child of one that comes before it. */
ALWAYS_INLINE void bin_set_adopt(struct bin_set *set, struct block *blocks, uint32_t parent,
                                 uint32_t block)
{
    uint32_t child = set->links[parent].child;
    set->links[block].sibling = child;
    if (child != NO_BLOCK)
        blocks[child].home = block;
    blocks[block].home = parent;
    set->links[parent].child = block;
}

/* Joins two heaps; the first blocks' backward links are the caller's to set. */
ALWAYS_INLINE uint32_t bin_set_meld(struct bin_set *set, struct block *blocks, uint32_t a,
                                    uint32_t b)
{
    bool swap = set->links[b].key < set->links[a].key;
    bin_set_adopt(set, blocks, swap ? b : a, swap ? a : b);
    return swap ? b : a;
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

/* Puts a block into a bin that is not empty. */
ALWAYS_INLINE void bin_set_join(struct bin_set *set, struct block *blocks, struct bin *bin,
                                uint32_t block)
{
    struct link *link = &set->links[block];
    uint32_t last = bin->last;
    link->child = link->sibling = NO_BLOCK;
    bin->last = block;
    if (last == NO_BLOCK) {
        last = bin->first;
        set->links[last].child = set->links[last].sibling = NO_BLOCK;
    }
    if (link->key > set->links[last].key) {
        bin_set_adopt(set, blocks, last, block);
        return;
    }
    bin->first = bin_set_meld(set, blocks, bin->first, block);
    blocks[bin->first].home = HOME_LOOSE;
}

ALWAYS_INLINE void bin_set_insert(struct bin_set *set, struct block *blocks, uint32_t number,
                                  uint32_t block, uint64_t key)
{
    struct bin *bin = &set->bins[number];
    set->links[block].key = key;
    if (bin->first != NO_BLOCK) {
        bin_set_join(set, blocks, bin, block);
        return;
    }
    bin->first = block;
    blocks[block].home = HOME_LOOSE;
    bin_set_mark_used(set, number);
}

/* Takes a block out of a bin of which it may not be the only one; those below it take its place.
 * Answers whether the bin is empty then. */
ALWAYS_INLINE bool bin_set_part(struct bin_set *set, struct block *blocks, struct bin *bin,
                                uint32_t block)
{
    const struct link *link = &set->links[block];
    uint32_t back = blocks[block].home;
    uint32_t rest = link->child;
    if (rest != NO_BLOCK && set->links[rest].sibling != NO_BLOCK)
        rest = bin_set_combine(set, blocks, rest);
    if (rest != NO_BLOCK)
        blocks[rest].home = back;
    if (bin->last == block)
        bin->last = back == HOME_LOOSE ? rest : back;
    if (back == HOME_LOOSE) {
        bin->first = rest;
        return rest == NO_BLOCK;
    }
    uint32_t next = link->sibling;
    if (rest != NO_BLOCK)
        set->links[rest].sibling = next;
    if (next != NO_BLOCK)
        blocks[next].home = rest != NO_BLOCK ? rest : back;
    bool leftmost = set->links[back].child == block;
    *(leftmost ? &set->links[back].child : &set->links[back].sibling) =
        rest != NO_BLOCK ? rest : next;
    return false;
}

/* Takes a block out. */
ALWAYS_INLINE void bin_set_remove(struct bin_set *set, struct block *blocks, uint32_t number,
                                  uint32_t block)
{
    struct bin *bin = &set->bins[number];
    if (bin->last == NO_BLOCK) {
        bin->first = NO_BLOCK;
        bin_set_mark_empty(set, number);
    } else if (bin_set_part(set, blocks, bin, block)) {
        bin_set_mark_empty(set, number);
    }
    blocks[block].home = HOME_ALLOCATED;
}

#endif
