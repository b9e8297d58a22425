#include "tiers.h"

#include <stdlib.h>
#include <string.h>

/* A piece of the space of a dead life. The addresses from `start` to the start of the next piece,
 * or to the end of the life, are free until an event. */
struct wanted {
    uint64_t start;
    int64_t until;
};

static uint64_t start_of(const struct tiers *tiers, uint32_t life)
{
    return (uint64_t)tiers->address[life];
}

static uint64_t end_of(const struct tiers *tiers, uint32_t life)
{
    return start_of(tiers, life) + (uint64_t)tiers->lives->size[life];
}

static bool push(struct tiers *tiers, uint64_t start, int64_t until)
{
    if (tiers->wants == tiers->room) {
        size_t room = tiers->room == 0 ? 1024 : 2 * tiers->room;
        struct wanted *wanted = realloc(tiers->wanted, room * sizeof *wanted);
        if (wanted == NULL)
            return false;
        tiers->wanted = wanted;
        tiers->room = room;
    }
    tiers->wanted[tiers->wants++] = (struct wanted){start, until};
    return true;
}

/* Processes the death of a life in the backward pass, in which the life appears. For each piece of
 * its space, saves on the stack the event at which the piece is wanted next. Returns false if
 * memory is exhausted. */
static bool undo_death(struct tiers *tiers, uint32_t life)
{
    struct spans *spans = &tiers->spans;
    uint64_t from = start_of(tiers, life);
    uint64_t to = end_of(tiers, life);
    struct span_place place;
    uint64_t start;
    if (!spans_cut(spans, from) || !spans_cut(spans, to))
        return false;
    place = spans_at(spans, from);
    do {
        const struct span_chunk *chunk = spans->chunk[place.chunk];
        start = chunk->start[place.index];
        if (start < to && !push(tiers, start, chunk->until[place.index]))
            return false;
    } while (start < to && spans_next(spans, &place));
    return spans_set(spans, from, to, TAKEN);
}

/* Processes the death of a life in the forward pass. Its space becomes free until the saved events.
 * The highest piece is on top of the stack. Returns false if memory is exhausted. */
static bool leave(struct tiers *tiers, uint32_t life)
{
    uint64_t from = start_of(tiers, life);
    for (uint64_t to = end_of(tiers, life); to > from;) {
        const struct wanted *piece = &tiers->wanted[--tiers->wants];
        if (!spans_set(&tiers->spans, piece->start, to, piece->until))
            return false;
        to = piece->start;
    }
    return true;
}

static bool place(struct tiers *tiers, uint32_t life)
{
    const struct lives *lives = tiers->lives;
    uint64_t found = spans_find(&tiers->spans, lives->died[life], (uint64_t)lives->size[life]);
    tiers->address[life] = (int64_t)found;
    uint64_t end = end_of(tiers, life);
    tiers->height = end > tiers->height ? end : tiers->height;
    tiers->ended = tiers->height >= tiers->limit;
    return spans_lend(&tiers->spans, found, end);
}

static bool go_backward(struct tiers *tiers, size_t event)
{
    uint32_t born = tiers->lives->begins[event];
    uint32_t died = tiers->lives->ends[event];
    if (born != NONE && tiers->tier[born] < tiers->current) {
        tiers->done++;
        if (!spans_set(&tiers->spans, start_of(tiers, born), end_of(tiers, born), (int64_t)event))
            return false;
    }
    if (died == NONE || tiers->tier[died] >= tiers->current)
        return true;
    tiers->done++;
    return undo_death(tiers, died);
}

static bool go_forward(struct tiers *tiers, size_t event)
{
    uint32_t born = tiers->lives->begins[event];
    uint32_t died = tiers->lives->ends[event];
    if (died != NONE && tiers->tier[died] <= tiers->current) {
        tiers->done++;
        if (tiers->tier[died] == tiers->current)
            spans_return(&tiers->spans, start_of(tiers, died), end_of(tiers, died));
        else if (!leave(tiers, died))
            return false;
    }
    if (born == NONE || tiers->tier[born] > tiers->current)
        return true;
    tiers->done++;
    if (tiers->tier[born] == tiers->current)
        return place(tiers, born);
    return spans_set(&tiers->spans, start_of(tiers, born), end_of(tiers, born), TAKEN);
}

/* Returns the tier of an event, which is the first tier of its lives. */
static uint32_t tier_of(const struct tiers *tiers, size_t event)
{
    uint32_t born = tiers->lives->begins[event];
    uint32_t died = tiers->lives->ends[event];
    uint32_t first = born == NONE ? tiers->tiers : tiers->tier[born];
    return died == NONE || tiers->tier[died] > first ? first : tiers->tier[died];
}

static bool sort_events(struct tiers *tiers)
{
    size_t all = tiers->lives->events;
    size_t *upto = calloc((size_t)tiers->tiers + 2, sizeof *upto);
    tiers->upto = upto;
    tiers->order = malloc((all + 1) * sizeof *tiers->order);
    tiers->aside = malloc((all + 1) * sizeof *tiers->aside);
    if (upto == NULL || tiers->order == NULL || tiers->aside == NULL)
        return false;
    for (size_t event = 0; event < all; event++)
        upto[tier_of(tiers, event) + 1]++;
    for (size_t tier = 1; tier <= tiers->tiers; tier++)
        upto[tier] += upto[tier - 1];
    for (size_t event = 0; event < all; event++)
        tiers->order[upto[tier_of(tiers, event)]++] = event;
    return true;
}

/* Returns the number of events in the tiers before this one. */
static size_t events_before(const struct tiers *tiers)
{
    return tiers->current == 0 ? 0 : tiers->upto[tiers->current - 1];
}

/* Merges the events of this tier into the events of the tiers before it. */
static void merge_events(struct tiers *tiers)
{
    size_t *order = tiers->order;
    size_t before = events_before(tiers);
    size_t place = tiers->upto[tiers->current];
    size_t left = place - before;
    memcpy(tiers->aside, order + before, left * sizeof *order);
    while (left > 0) {
        bool from_before = before > 0 && order[before - 1] > tiers->aside[left - 1];
        order[--place] = from_before ? order[--before] : tiers->aside[--left];
    }
}

/* Prepares the backward pass. At the end of time, all lives that never die are present. Returns
 * false if memory is exhausted. */
static bool begin_tier(struct tiers *tiers)
{
    const struct lives *lives = tiers->lives;
    int64_t never = (int64_t)lives->events;
    tiers->forward = false;
    tiers->event = 0;
    tiers->wants = 0;
    if (!spans_init(&tiers->spans, never))
        return false;
    for (uint32_t life = 0; life < lives->count; life++)
        if (lives->died[life] == never && tiers->tier[life] < tiers->current &&
            !spans_set(&tiers->spans, start_of(tiers, life), end_of(tiers, life), TAKEN))
            return false;
    return true;
}

bool tiers_begin(struct tiers *tiers)
{
    tiers->ended = tiers->current == tiers->tiers;
    return sort_events(tiers) && begin_tier(tiers);
}

/* Changes to the next pass at the last event of a pass. Returns false if memory is exhausted. */
static bool turn(struct tiers *tiers)
{
    tiers->event = 0;
    tiers->forward = !tiers->forward;
    if (tiers->forward) {
        merge_events(tiers);
        return true;
    }
    spans_destroy(&tiers->spans);
    tiers->current++;
    tiers->ended = tiers->current == tiers->tiers;
    return tiers->ended || begin_tier(tiers);
}

bool tiers_advance(struct tiers *tiers, size_t events)
{
    size_t all = tiers->forward ? tiers->upto[tiers->current] : events_before(tiers);
    size_t stop = all - tiers->event < events ? all : tiers->event + events;
    while (tiers->event < stop && !tiers->ended) {
        size_t event = tiers->order[tiers->forward ? tiers->event : all - 1 - tiers->event];
        tiers->event++;
        if (!(tiers->forward ? go_forward(tiers, event) : go_backward(tiers, event)))
            return false;
    }
    return tiers->ended || tiers->event < all || turn(tiers);
}

void tiers_end(struct tiers *tiers)
{
    spans_destroy(&tiers->spans);
    free(tiers->wanted);
    free(tiers->order);
    free(tiers->upto);
    free(tiers->aside);
}
