#include "spans.h"

#include <stdlib.h>
#include <string.h>

void spans_destroy(struct spans *spans)
{
    for (size_t i = 0; i < spans->chunks; i++)
        free(spans->chunk[i]);
    free(spans->chunk);
    free(spans->first);
    *spans = (struct spans){0};
}

static bool reserve(struct spans *spans)
{
    if (spans->chunks < spans->room)
        return true;
    size_t room = spans->room == 0 ? 16 : 2 * spans->room;
    struct span_chunk **chunk = realloc(spans->chunk, room * sizeof *chunk);
    if (chunk == NULL)
        return false;
    spans->chunk = chunk;
    uint64_t *first = realloc(spans->first, room * sizeof *first);
    if (first == NULL)
        return false;
    spans->first = first;
    spans->room = room;
    return true;
}

/* Inserts an empty chunk at an index of the table. Returns NULL if memory is exhausted. */
static struct span_chunk *add_chunk(struct spans *spans, size_t at)
{
    if (!reserve(spans))
        return NULL;
    struct span_chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL)
        return NULL;
    size_t behind = spans->chunks - at;
    memmove(spans->chunk + at + 1, spans->chunk + at, behind * sizeof *spans->chunk);
    memmove(spans->first + at + 1, spans->first + at, behind * sizeof *spans->first);
    spans->chunk[at] = chunk;
    spans->chunks++;
    return chunk;
}

static void remove_chunk(struct spans *spans, size_t at)
{
    free(spans->chunk[at]);
    spans->chunks--;
    size_t behind = spans->chunks - at;
    memmove(spans->chunk + at, spans->chunk + at + 1, behind * sizeof *spans->chunk);
    memmove(spans->first + at, spans->first + at + 1, behind * sizeof *spans->first);
}

static void move_tail(struct span_chunk *to, uint32_t at, const struct span_chunk *from,
                      uint32_t first)
{
    size_t count = from->count - first;
    memmove(to->start + at, from->start + first, count * sizeof *to->start);
    memmove(to->until + at, from->until + first, count * sizeof *to->until);
}

bool spans_init(struct spans *spans, int64_t until)
{
    *spans = (struct spans){0};
    struct span_chunk *chunk = add_chunk(spans, 0);
    if (chunk == NULL)
        return false;
    chunk->count = 1;
    chunk->start[0] = spans->first[0] = 0;
    chunk->until[0] = chunk->latest = until;
    return true;
}

/* Returns the index of the last of some ascending numbers that is at most `at`. The first number is
 * at most `at`. */
static size_t last_until(const uint64_t *numbers, size_t count, uint64_t at)
{
    size_t low = 0;
    while (count > 1) {
        size_t half = count / 2;
        low += numbers[low + half] <= at ? half : 0;
        count -= half;
    }
    return low;
}

struct span_place spans_at(const struct spans *spans, uint64_t at)
{
    size_t chunk = last_until(spans->first, spans->chunks, at);
    const struct span_chunk *found = spans->chunk[chunk];
    return (struct span_place){chunk, (uint32_t)last_until(found->start, found->count, at)};
}

bool spans_next(const struct spans *spans, struct span_place *place)
{
    if (++place->index < spans->chunk[place->chunk]->count)
        return true;
    *place = (struct span_place){place->chunk + 1, 0};
    return place->chunk < spans->chunks;
}

static uint64_t start_of(const struct spans *spans, struct span_place place)
{
    return spans->chunk[place.chunk]->start[place.index];
}

static int64_t until_of(const struct spans *spans, struct span_place place)
{
    return spans->chunk[place.chunk]->until[place.index];
}

/* Halves a chunk. Updates the place of a span of the chunk. Returns false if memory is
 * exhausted. */
static bool halve(struct spans *spans, struct span_place *place)
{
    struct span_chunk *upper = add_chunk(spans, place->chunk + 1);
    if (upper == NULL)
        return false;
    struct span_chunk *lower = spans->chunk[place->chunk];
    uint32_t half = CHUNK_SPANS / 2;
    move_tail(upper, 0, lower, half);
    upper->count = lower->count - half;
    lower->count = half;
    spans->first[place->chunk + 1] = upper->start[0];
    upper->latest = lower->latest;
    if (place->index >= half)
        *place = (struct span_place){place->chunk + 1, place->index - half};
    return true;
}

/* Makes space for `more` spans in the chunk of a span, and updates the place of the span. Returns
 * false if memory is exhausted. */
static bool make_room(struct spans *spans, struct span_place *place, uint32_t more)
{
    return spans->chunk[place->chunk]->count + more <= CHUNK_SPANS || halve(spans, place);
}

/* Makes an address within a span the start of a span, and moves the place to it. Returns false if
 * memory is exhausted. */
static bool cut(struct spans *spans, struct span_place *place, uint64_t at)
{
    if (start_of(spans, *place) == at)
        return true;
    if (!make_room(spans, place, 1))
        return false;
    struct span_chunk *chunk = spans->chunk[place->chunk];
    uint32_t next = ++place->index;
    move_tail(chunk, next + 1, chunk, next);
    chunk->start[next] = at;
    chunk->until[next] = chunk->until[next - 1];
    chunk->count++;
    return true;
}

bool spans_cut(struct spans *spans, uint64_t at)
{
    struct span_place place = spans_at(spans, at);
    return cut(spans, &place, at);
}

/* Merges a span into the span below it. */
static void erase(struct spans *spans, struct span_place place)
{
    struct span_chunk *chunk = spans->chunk[place.chunk];
    move_tail(chunk, place.index, chunk, place.index + 1);
    chunk->count--;
    if (chunk->count == 0) {
        remove_chunk(spans, place.chunk);
        return;
    }
    spans->first[place.chunk] = chunk->start[0];
}

static struct span_place below(const struct spans *spans, struct span_place place)
{
    if (place.index > 0)
        return (struct span_place){place.chunk, place.index - 1};
    return (struct span_place){place.chunk - 1, spans->chunk[place.chunk - 1]->count - 1};
}

/* Merges a span into the span below it if both are free until the same event. */
static void join(struct spans *spans, struct span_place place)
{
    if (start_of(spans, place) > 0 && until_of(spans, below(spans, place)) == until_of(spans, place))
        erase(spans, place);
}

static void set_until(struct span_chunk *chunk, uint32_t index, int64_t until)
{
    chunk->until[index] = until;
    chunk->latest = until > chunk->latest ? until : chunk->latest;
}

bool spans_set(struct spans *spans, uint64_t from, uint64_t to, int64_t until)
{
    struct span_place place = spans_at(spans, from);
    /* Space for both cuts, so that the second cut does not move the span at the first. */
    if (!make_room(spans, &place, 2) || !cut(spans, &place, from))
        return false;
    struct span_place end = place;
    for (struct span_place next = end; spans_next(spans, &next) && start_of(spans, next) <= to;)
        end = next;
    if (!cut(spans, &end, to))
        return false;
    set_until(spans->chunk[place.chunk], place.index, until);
    for (end = place; spans_next(spans, &end) && start_of(spans, end) < to; end = place)
        erase(spans, end);
    join(spans, end);
    join(spans, place);
    return true;
}

/* Lends or returns all spans from a place up to an address. Returns the place of the span at that
 * address. */
static struct span_place turn_over(struct spans *spans, struct span_place place, uint64_t to)
{
    do {
        struct span_chunk *chunk = spans->chunk[place.chunk];
        set_until(chunk, place.index, ~chunk->until[place.index]);
    } while (spans_next(spans, &place) && start_of(spans, place) < to);
    return place;
}

bool spans_lend(struct spans *spans, uint64_t from, uint64_t to)
{
    if (!spans_cut(spans, to) || !spans_cut(spans, from))
        return false;
    turn_over(spans, spans_at(spans, from), to);
    return true;
}

void spans_return(struct spans *spans, uint64_t from, uint64_t to)
{
    struct span_place place = spans_at(spans, from);
    join(spans, turn_over(spans, place, to));
    join(spans, place);
}

uint64_t spans_find(struct spans *spans, int64_t until, uint64_t size)
{
    uint64_t low = 0; /* from this address on, all bytes so far are free for long enough */
    for (size_t i = 0; i < spans->chunks; i++) {
        struct span_chunk *chunk = spans->chunk[i];
        uint64_t end = i + 1 < spans->chunks ? spans->first[i + 1] : UINT64_MAX;
        if (chunk->latest < until) {
            low = end;
            continue;
        }
        int64_t latest = TAKEN;
        for (uint32_t j = 0; j < chunk->count; j++) {
            if (chunk->start[j] >= low && chunk->start[j] - low >= size)
                return low;
            if (chunk->until[j] < until)
                low = j + 1 < chunk->count ? chunk->start[j + 1] : end;
            latest = chunk->until[j] > latest ? chunk->until[j] : latest;
        }
        chunk->latest = latest;
        if (end - low >= size)
            return low;
    }
    return low;
}
