#include "outward.h"

#include <stdlib.h>

/* Returns the event of a life's death or, if time runs backward, minus the event of its birth. */
static int64_t until_of(const struct outward *outward, uint32_t life)
{
    const struct lives *lives = outward->lives;
    return outward->backward ? -lives->born[life] : lives->died[life];
}

static bool is_gap(const struct outward *outward, uint32_t block)
{
    return block != NONE && block >= outward->lives->slots;
}

/* Links a block between two neighbours; either may be NONE. */
static void link_between(struct outward *outward, uint32_t below, uint32_t block, uint32_t above)
{
    struct place_block *blocks = outward->block;
    blocks[block].below = below;
    blocks[block].above = above;
    if (below != NONE)
        blocks[below].above = block;
    if (above == NONE)
        outward->top = block;
    else
        blocks[above].below = block;
}

static void unlink_block(struct outward *outward, uint32_t block)
{
    struct place_block *blocks = outward->block;
    uint32_t below = blocks[block].below;
    uint32_t above = blocks[block].above;
    if (below != NONE)
        blocks[below].above = above;
    if (above == NONE)
        outward->top = below;
    else
        blocks[above].below = below;
}

/* Replaces a block by another in the links of its neighbours. */
static void replace(struct outward *outward, uint32_t old, uint32_t block)
{
    link_between(outward, outward->block[old].below, block, outward->block[old].above);
}

/* Returns a block for a gap. Adjacent gaps are merged, so that there are at most slots + 1 gaps. */
static uint32_t new_gap(struct outward *outward)
{
    if (outward->spares > 0)
        return outward->spare[--outward->spares];
    return outward->blocks++;
}

static void drop_gap(struct outward *outward, uint32_t gap)
{
    outward->spare[outward->spares++] = gap;
}

static bool change_gap(struct outward *outward, uint32_t gap, uint64_t address, uint64_t size)
{
    struct place_block *block = &outward->block[gap];
    bool changed =
        gaps_change(&outward->gaps, block->address, block->size, address, size, gap);
    block->address = address;
    block->size = size;
    return changed;
}

/* Frees the space of an object and merges it with the gaps next to it. Returns false if memory is
 * exhausted. */
static bool release(struct outward *outward, uint32_t slot)
{
    struct place_block *blocks = outward->block;
    struct place_block freed = blocks[slot];
    bool gap_below = is_gap(outward, freed.below);
    bool gap_above = is_gap(outward, freed.above);
    if (gap_below) {
        uint32_t gap = freed.below;
        uint64_t size = blocks[gap].size + freed.size;
        unlink_block(outward, slot);
        if (gap_above) {
            struct place_block *above = &blocks[freed.above];
            gaps_remove(&outward->gaps, above->address, above->size);
            size += above->size;
            unlink_block(outward, freed.above);
            drop_gap(outward, freed.above);
        }
        return change_gap(outward, gap, blocks[gap].address, size);
    }
    if (gap_above) {
        unlink_block(outward, slot);
        return change_gap(outward, freed.above, freed.address,
                          freed.size + blocks[freed.above].size);
    }
    uint32_t gap = new_gap(outward);
    replace(outward, slot, gap);
    blocks[gap].address = freed.address;
    blocks[gap].size = freed.size;
    return gaps_insert(&outward->gaps, freed.address, freed.size, gap);
}

/* Places an object at the low or the high end of a gap. Returns false if memory is exhausted. */
static bool fill(struct outward *outward, uint32_t gap, uint32_t slot, uint64_t size, bool high)
{
    struct place_block *free_block = &outward->block[gap];
    struct place_block *taken = &outward->block[slot];
    uint64_t rest = free_block->size - size;
    taken->size = size;
    taken->address = free_block->address + (high ? rest : 0);
    if (rest == 0) {
        replace(outward, gap, slot);
        gaps_remove(&outward->gaps, free_block->address, free_block->size);
        drop_gap(outward, gap);
        return true;
    }
    if (high)
        link_between(outward, gap, slot, free_block->above);
    else
        link_between(outward, free_block->below, slot, gap);
    return change_gap(outward, gap, free_block->address + (high ? 0 : size), rest);
}

/* Places an object above all others: on top, or in the gap on top, which becomes large enough. */
static void put_on_top(struct outward *outward, uint32_t slot, uint64_t size)
{
    uint32_t top = outward->top;
    struct place_block *taken = &outward->block[slot];
    taken->size = size;
    if (is_gap(outward, top)) {
        taken->address = outward->block[top].address;
        gaps_remove(&outward->gaps, outward->block[top].address, outward->block[top].size);
        replace(outward, top, slot);
        drop_gap(outward, top);
    } else {
        taken->address = top == NONE ? 0 : outward->block[top].address + outward->block[top].size;
        link_between(outward, top, slot, NONE);
    }
    outward->height = taken->address + size;
    outward->ended = outward->height >= outward->limit;
}

/* Returns the cost of placing an object that lives until `until` next to a neighbour. The cost is
 * the distance between the ends of both lives, divided by the object's remaining life, and at most
 * 4. The cost is 4 without a neighbour, at the bottom and at the top. */
static double distance(const struct outward *outward, uint32_t neighbour, int64_t until,
                       double remaining)
{
    if (neighbour == NONE)
        return 4;
    double apart = (double)(outward->block[neighbour].until - until);
    apart = (apart < 0 ? -apart : apart) / remaining;
    return apart < 4 ? apart : 4;
}

/* Returns the gap with the lowest cost among the smallest gaps. The cost is the remainder of the
 * gap, in sizes of the object, plus three times the distance to the neighbour that dies at the
 * closest time. The object is placed at the end of that neighbour. */
static uint32_t match(const struct outward *outward, uint64_t size, int64_t until, int64_t now,
                      bool *high)
{
    double remaining = (double)(until - now) + 1;
    struct gap_place place = gaps_best_fit(&outward->gaps, size);
    uint32_t best = NONE;
    double least = 1e300;
    for (uint32_t weighed = 0; weighed < outward->max_gaps; weighed++) {
        uint32_t gap = gaps_next(&outward->gaps, &place);
        if (gap == NONE)
            break;
        const struct place_block *block = &outward->block[gap];
        double rest = (double)(block->size - size) / (double)size;
        double below = distance(outward, block->below, until, remaining);
        double above = distance(outward, block->above, until, remaining);
        double cost = (rest < 1 ? rest : 1) + 3 * (below < above ? below : above);
        if (cost < least) {
            least = cost;
            best = gap;
            *high = above < below;
        }
        if (rest >= 1 && least <= 1)
            break;
    }
    return best;
}

static bool place(struct outward *outward, uint32_t life, int64_t now)
{
    const struct lives *lives = outward->lives;
    uint32_t slot = lives->slot[life];
    uint64_t size = (uint64_t)lives->size[life];
    int64_t until = until_of(outward, life);
    bool high = false;
    uint32_t gap = NONE;
    if (outward->fit == FIT_FIRST) {
        gap = gaps_first_fit(&outward->gaps, size);
    } else if (outward->fit == FIT_BEST) {
        struct gap_place at = gaps_best_fit(&outward->gaps, size);
        gap = gaps_next(&outward->gaps, &at);
    } else {
        gap = match(outward, size, until, now, &high);
    }
    bool placed = gap == NONE || fill(outward, gap, slot, size, high);
    if (gap == NONE)
        put_on_top(outward, slot, size);
    outward->block[slot].until = until;
    outward->address[life] = (int64_t)outward->block[slot].address;
    return placed;
}

/* Executes an event: frees the space of one life, and places another. Returns false if memory is
 * exhausted. */
static bool carry_out(struct outward *outward, size_t event)
{
    const struct lives *lives = outward->lives;
    uint32_t ends = outward->backward ? lives->begins[event] : lives->ends[event];
    uint32_t begins = outward->backward ? lives->ends[event] : lives->begins[event];
    int64_t now = outward->backward ? -(int64_t)event : (int64_t)event;
    if (ends != NONE && !release(outward, lives->slot[ends]))
        return false;
    return begins == NONE || place(outward, begins, now);
}

bool outward_begin(struct outward *outward, const uint32_t *order, size_t count)
{
    const struct lives *lives = outward->lives;
    size_t room = 2 * (size_t)lives->slots + 1;
    gaps_init(&outward->gaps, outward->fit != FIT_FIRST);
    outward->block = malloc(room * sizeof *outward->block);
    outward->spare = malloc(room * sizeof *outward->spare);
    if (outward->block == NULL || outward->spare == NULL)
        return false;
    outward->blocks = lives->slots;
    outward->top = NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = lives->slot[order[i]];
        struct place_block *block = &outward->block[slot];
        block->address = outward->height;
        block->size = (uint64_t)lives->size[order[i]];
        block->until = until_of(outward, order[i]);
        link_between(outward, outward->top, slot, NONE);
        outward->address[order[i]] = (int64_t)outward->height;
        outward->height += block->size;
    }
    outward->ended = outward->height >= outward->limit;
    return true;
}

bool outward_advance(struct outward *outward, size_t events)
{
    size_t all = outward->backward ? outward->start + 1 : outward->lives->events - outward->start - 1;
    size_t stop = all - outward->done < events ? all : outward->done + events;
    while (outward->done < stop && !outward->ended) {
        size_t event = outward->backward ? outward->start - outward->done
                                         : outward->start + 1 + outward->done;
        outward->done++;
        if (!carry_out(outward, event))
            return false;
    }
    outward->ended = outward->ended || outward->done == all;
    return true;
}

void outward_end(struct outward *outward)
{
    gaps_destroy(&outward->gaps);
    free(outward->block);
    free(outward->spare);
}
