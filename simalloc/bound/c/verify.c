#include "verify.h"

#include <stdlib.h>

/* Return the nearest taken rank below or above a rank, or NONE. Each level has one bit for each
 * word of the level below it, so that the number of steps is proportional to the number of
 * levels. */
static uint32_t taken_below(const struct sweep *sweep, uint32_t rank)
{
    for (uint32_t level = 0; level < sweep->levels; level++, rank /= 64) {
        uint64_t low = sweep->bits[level][rank / 64] & ((UINT64_C(1) << rank % 64) - 1);
        if (low == 0)
            continue;
        rank = rank / 64 * 64 + 63 - (uint32_t)__builtin_clzll(low);
        while (level-- > 0)
            rank = rank * 64 + 63 - (uint32_t)__builtin_clzll(sweep->bits[level][rank]);
        return rank;
    }
    return NONE;
}

static uint32_t taken_above(const struct sweep *sweep, uint32_t rank)
{
    for (uint32_t level = 0; level < sweep->levels; level++, rank /= 64) {
        uint64_t high = sweep->bits[level][rank / 64] & ~UINT64_C(1) << rank % 64;
        if (high == 0)
            continue;
        rank = rank / 64 * 64 + (uint32_t)__builtin_ctzll(high);
        while (level-- > 0)
            rank = rank * 64 + (uint32_t)__builtin_ctzll(sweep->bits[level][rank]);
        return rank;
    }
    return NONE;
}

static void take(struct sweep *sweep, uint32_t rank)
{
    for (uint32_t level = 0; level < sweep->levels; level++, rank /= 64)
        sweep->bits[level][rank / 64] |= UINT64_C(1) << rank % 64;
}

static void give_back(struct sweep *sweep, uint32_t rank)
{
    for (uint32_t level = 0; level < sweep->levels; level++, rank /= 64) {
        sweep->bits[level][rank / 64] &= ~(UINT64_C(1) << rank % 64);
        if (sweep->bits[level][rank / 64] != 0)
            return;
    }
}

static bool is_taken(const struct sweep *sweep, uint32_t rank)
{
    return sweep->bits[0][rank / 64] >> rank % 64 & 1;
}

static uint64_t start_of(const struct sweep *sweep, uint32_t life)
{
    return (uint64_t)sweep->address[life];
}

static uint64_t end_of(const struct sweep *sweep, uint32_t life)
{
    return start_of(sweep, life) + (uint64_t)sweep->lives->size[life];
}

/* The live objects next to a place, and the bounds between them. Without an object, the bounds are
 * 0 and the break. */
struct room {
    uint32_t below;
    uint32_t above;
    uint64_t low;
    uint64_t high;
};

static struct room room_at(const struct sweep *sweep, uint32_t rank)
{
    uint32_t below = taken_below(sweep, rank);
    uint32_t above = taken_above(sweep, rank);
    struct room room = {NONE, NONE, 0, sweep->edge};
    if (below != NONE) {
        room.below = sweep->standing[below];
        room.low = end_of(sweep, room.below);
    }
    if (above != NONE) {
        room.above = sweep->standing[above];
        room.high = start_of(sweep, room.above);
    }
    return room;
}

static bool overlap(struct sweep *sweep, uint32_t life, uint32_t other)
{
    sweep->overlapped = life;
    sweep->overlaps = other;
    return false;
}

/* Raises the break to the end of an object. The new memory joins a free block that ends at the
 * break. */
static void grow(struct sweep *sweep, struct room *room, uint64_t end)
{
    bool joined = room->high > room->low;
    sweep->growths++;
    sweep->coalescings += joined;
    sweep->blocks += !joined;
    sweep->edge = room->high = end;
}

static bool enter(struct sweep *sweep, uint32_t life)
{
    uint32_t rank = sweep->rank[life];
    if (is_taken(sweep, rank))
        return overlap(sweep, life, sweep->standing[rank]);
    struct room room = room_at(sweep, rank);
    uint64_t start = start_of(sweep, life);
    uint64_t end = end_of(sweep, life);
    if (start < room.low)
        return overlap(sweep, life, room.below);
    if (end > room.high) {
        if (room.above != NONE)
            return overlap(sweep, life, room.above);
        grow(sweep, &room, end);
    }
    uint64_t rests = (uint64_t)(start > room.low) + (end < room.high);
    sweep->splits += rests;
    sweep->blocks += rests;
    sweep->blocks--;
    take(sweep, rank);
    sweep->standing[rank] = life;
    return true;
}

static void leave(struct sweep *sweep, uint32_t life)
{
    uint32_t rank = sweep->rank[life];
    give_back(sweep, rank);
    struct room room = room_at(sweep, rank);
    uint64_t joined =
        (uint64_t)(start_of(sweep, life) > room.low) + (end_of(sweep, life) < room.high);
    sweep->coalescings += joined;
    sweep->blocks++;
    sweep->blocks -= joined;
}

bool sweep_begin(struct sweep *sweep)
{
    sweep->overlapped = sweep->overlaps = NONE;
    sweep->standing = malloc(((size_t)sweep->ranks + 1) * sizeof *sweep->standing);
    if (sweep->standing == NULL)
        return false;
    size_t words = sweep->ranks;
    do {
        words = words / 64 + 1;
        uint64_t *bits = calloc(words, sizeof *bits);
        if (bits == NULL)
            return false;
        sweep->bits[sweep->levels++] = bits;
    } while (words > 1);
    return true;
}

void sweep_advance(struct sweep *sweep, size_t events)
{
    const struct lives *lives = sweep->lives;
    size_t stop = lives->events - sweep->done < events ? lives->events : sweep->done + events;
    for (; sweep->done < stop && sweep->overlapped == NONE; sweep->done++) {
        uint32_t ends = lives->ends[sweep->done];
        uint32_t begins = lives->begins[sweep->done];
        if (ends != NONE)
            leave(sweep, ends);
        if (begins != NONE && !enter(sweep, begins))
            return;
        sweep->heap[sweep->done] = (int64_t)sweep->edge;
        sweep->free_blocks[sweep->done] = (int64_t)sweep->blocks;
    }
}

void sweep_end(struct sweep *sweep)
{
    for (uint32_t level = 0; level < sweep->levels; level++)
        free(sweep->bits[level]);
    free(sweep->standing);
}
