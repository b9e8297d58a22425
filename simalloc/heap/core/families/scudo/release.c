/* Scudo's releases: purging pages of small blocks. */
#include <string.h>

#include "families/scudo/parts.h"

enum { MILLISECOND = 1000000, RIPE_PAGES = 8 };

/* The groups of a region that a release examines. */
struct choice {
    uint64_t chosen[MAX_GROUPS / 64]; /* bitmap of groups */
    uint64_t threshold;
    bool any;
};

static bool is_small(const struct region *region)
{
    return region->block < SMALL_BELOW;
}

/* Returns whether a release is due when `free_bytes` are free. */
static bool is_due(const struct scudo *state, struct region *region, uint64_t free_bytes,
                   enum release_kind kind, uint64_t now)
{
    struct release_state *release = &region->release;
    if (free_bytes < release->mark)
        release->mark = free_bytes;
    uint64_t gained = free_bytes - release->mark;
    if (gained < PAGE)
        return false;
    if (kind == RELEASE_FORCED)
        return true;
    if (state->primary_interval == 0 || (is_small(region) && gained < release->threshold))
        return false;
    bool is_ripe = region->block > PAGE && gained > RIPE_PAGES * PAGE;
    return is_ripe || release->last + (state->primary_interval - 1) * MILLISECOND <= now;
}

/* Returns whether a release chooses a group of small blocks with new free blocks. Also lowers
 * `threshold` to the bytes that the group lacks, if they are fewer. */
static bool is_dense(const struct scudo *state, const struct region *region, uint32_t number,
                     struct choice *choice)
{
    const struct group *group = &region->groups[number];
    const uint64_t stretch = UINT64_C(1) << state->configuration->group_bits;
    uint64_t free_bytes = group->count * region->block;
    uint64_t gained = free_bytes - group->mark;
    uint64_t made = region->made - number * stretch;
    uint64_t least = (made < stretch ? made : stretch) * (99 - region->block / 16) / 100;
    uint64_t gain = state->configuration->gain;
    uint64_t lacks = free_bytes < least ? least - free_bytes + gained : gain;
    if (lacks < choice->threshold)
        choice->threshold = lacks;
    return free_bytes >= least && (gained >= gain || group->count >= stretch / region->block);
}

static void choose(const struct scudo *state, struct region *region, enum release_kind kind,
                   struct choice *choice)
{
    *choice = (struct choice){.threshold = UINT64_MAX};
    for (uint32_t number = 0; number < region->group_capacity; number++) {
        struct group *group = &region->groups[number];
        uint64_t free_bytes = group->count * region->block;
        if (free_bytes == 0)
            continue;
        if (kind != RELEASE_ALL && free_bytes <= group->mark) {
            group->mark = free_bytes;
            continue;
        }
        if (kind == RELEASE_ALL || !is_small(region) ||
            is_dense(state, region, number, choice)) {
            choice->chosen[number / 64] |= UINT64_C(1) << number % 64;
            choice->any = true;
            group->mark = free_bytes;
        }
    }
    if (is_small(region))
        region->release.threshold = choice->threshold == UINT64_MAX ? state->configuration->gain
                                                                    : choice->threshold;
}

static bool is_chosen(const struct choice *choice, uint32_t number)
{
    return number < MAX_GROUPS && (choice->chosen[number / 64] >> number % 64 & 1) != 0;
}

/* Makes a bitmap of `count` clear bits. Returns false, with the heap's failure set, if memory is
 * exhausted. */
static bool clear_bits(struct scudo *state, uint64_t count)
{
    uint32_t last = (uint32_t)(count / 64);
    if (!heap_needs(&state->heap, TABLE_COVER(state->bits, state->bit_words, last)))
        return false;
    memset(state->bits, 0, (last + 1) * sizeof *state->bits);
    return true;
}

/* Returns the first bit from `at` on with the wanted value, or `end`. */
static uint64_t find_bit(const uint64_t *bits, uint64_t at, uint64_t end, bool wanted)
{
    while (at < end) {
        uint64_t word = (wanted ? bits[at / 64] : ~bits[at / 64]) >> at % 64;
        if (word != 0) {
            at += (uint64_t)__builtin_ctzll(word);
            return at < end ? at : end;
        }
        at += 64 - at % 64;
    }
    return end;
}

/* Sets the bits of a group's free blocks, numbered from block `first` of the region. */
static void set_bits(const struct scudo *state, const struct region *region,
                     const struct group *group, uint64_t first)
{
    uint32_t count = group->newest_count;
    for (uint32_t batch = group->newest; batch != NOTHING; batch = state->batches[batch].older) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t id = state->batches[batch].blocks[i];
            uint64_t offset = state->heap.blocks[id].address - region->start;
            uint64_t bit = offset / region->block - first;
            state->bits[bit / 64] |= UINT64_C(1) << bit % 64;
        }
        count = state->configuration->max_cached;
    }
}

/* Purges the pages of groups [number, end) whose blocks are all free. Returns whether any page was
 * purged. */
static bool give_back_span(struct scudo *state, const struct region *region, uint32_t number,
                           uint32_t end)
{
    unsigned bits = state->configuration->group_bits;
    uint64_t block = region->block;
    uint64_t blocks = region->made / block;
    uint64_t first = (((uint64_t)number << bits) + block - 1) / block;
    uint64_t last = (((uint64_t)end << bits) + block - 1) / block;
    uint64_t count = (last < blocks ? last : blocks) - first;
    bool any = false;
    if (!clear_bits(state, count))
        return false;
    for (; number < end; number++)
        set_bits(state, region, &region->groups[number], first);
    for (uint64_t from = 0, to = 0; to < count;) {
        from = find_bit(state->bits, to, count, true);
        to = find_bit(state->bits, from, count, false);
        uint64_t low = round_up((first + from) * block, PAGE);
        uint64_t high = (first + to) * block;
        high = high == region->made ? round_up(high, PAGE) : high / PAGE * PAGE;
        if (from < to && low < high) {
            scudo_give_back(state, region->start + low, high - low);
            any = true;
        }
    }
    return any;
}

void scudo_release(struct scudo *state, uint32_t number, enum release_kind kind, uint64_t now)
{
    struct region *region = &state->regions[number];
    uint64_t free_bytes = region->count * region->block;
    struct choice choice;
    bool any = false;
    if (free_bytes == 0 || (kind != RELEASE_ALL && !is_due(state, region, free_bytes, kind, now)))
        return;
    choose(state, region, kind, &choice);
    if (!choice.any)
        return;
    for (uint32_t group = 0, end; group < region->group_capacity; group = end + 1) {
        for (end = group; is_chosen(&choice, end);)
            end++;
        if (end > group && give_back_span(state, region, group, end))
            any = true;
    }
    if (any)
        region->release.mark = free_bytes;
    region->release.last = now;
}
