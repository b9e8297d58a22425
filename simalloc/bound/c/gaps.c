#include "gaps.h"

#include <stdlib.h>
#include <string.h>

#include "lives.h"

void gaps_init(struct gaps *gaps, bool by_size)
{
    *gaps = (struct gaps){.by_size = by_size};
}

void gaps_destroy(struct gaps *gaps)
{
    for (size_t i = 0; i < gaps->chunks; i++)
        free(gaps->chunk[i]);
    free(gaps->chunk);
    free(gaps->largest);
    free(gaps->spare);
    *gaps = (struct gaps){0};
}

static bool is_before(uint64_t key, uint64_t rest, uint64_t other_key, uint64_t other_rest)
{
    return key < other_key || (key == other_key && rest < other_rest);
}

/* Returns the last chunk that begins at or before a gap with these keys, or the first chunk. */
static size_t chunk_of(const struct gaps *gaps, uint64_t key, uint64_t rest)
{
    size_t low = 0;
    for (size_t count = gaps->chunks; count > 1;) {
        size_t half = count / 2;
        const struct gap_chunk *middle = gaps->chunk[low + half];
        if (!is_before(key, rest, middle->key[0], middle->rest[0]))
            low += half;
        count -= half;
    }
    return low;
}

/* Returns the number of gaps of a chunk before a gap with these keys. */
static uint32_t index_of(const struct gap_chunk *chunk, uint64_t key, uint64_t rest)
{
    uint32_t low = 0;
    for (uint32_t count = chunk->count; count > 0;) {
        uint32_t half = count / 2;
        if (is_before(chunk->key[low + half], chunk->rest[low + half], key, rest)) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

static uint64_t largest_of(const struct gap_chunk *chunk)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < chunk->count; i++)
        most = chunk->rest[i] > most ? chunk->rest[i] : most;
    return most;
}

/* Reserves memory for one more chunk. Returns false if memory is exhausted. */
static bool reserve(struct gaps *gaps)
{
    if (gaps->spare == NULL)
        gaps->spare = malloc(sizeof *gaps->spare);
    if (gaps->spare == NULL)
        return false;
    if (gaps->chunks < gaps->room)
        return true;
    size_t room = gaps->room == 0 ? 16 : 2 * gaps->room;
    struct gap_chunk **chunk = realloc(gaps->chunk, room * sizeof *chunk);
    if (chunk == NULL)
        return false;
    gaps->chunk = chunk;
    uint64_t *largest = realloc(gaps->largest, room * sizeof *largest);
    if (largest == NULL)
        return false;
    gaps->largest = largest;
    gaps->room = room;
    return true;
}

/* Inserts the spare chunk, empty, at an index of the table. */
static struct gap_chunk *add_chunk(struct gaps *gaps, size_t at)
{
    size_t behind = gaps->chunks - at;
    memmove(gaps->chunk + at + 1, gaps->chunk + at, behind * sizeof *gaps->chunk);
    memmove(gaps->largest + at + 1, gaps->largest + at, behind * sizeof *gaps->largest);
    struct gap_chunk *chunk = gaps->spare;
    gaps->spare = NULL;
    chunk->count = 0;
    gaps->chunk[at] = chunk;
    gaps->largest[at] = 0;
    gaps->chunks++;
    return chunk;
}

static void remove_chunk(struct gaps *gaps, size_t at)
{
    free(gaps->spare);
    gaps->spare = gaps->chunk[at];
    gaps->chunks--;
    size_t behind = gaps->chunks - at;
    memmove(gaps->chunk + at, gaps->chunk + at + 1, behind * sizeof *gaps->chunk);
    memmove(gaps->largest + at, gaps->largest + at + 1, behind * sizeof *gaps->largest);
}

static void move_tail(struct gap_chunk *to, uint32_t at, const struct gap_chunk *from,
                      uint32_t first)
{
    size_t count = from->count - first;
    memmove(to->block + at, from->block + first, count * sizeof *to->block);
    memmove(to->key + at, from->key + first, count * sizeof *to->key);
    memmove(to->rest + at, from->rest + first, count * sizeof *to->rest);
}

/* Halves a full chunk. The spare chunk receives the upper half. */
static void halve(struct gaps *gaps, size_t at)
{
    struct gap_chunk *upper = add_chunk(gaps, at + 1);
    struct gap_chunk *lower = gaps->chunk[at];
    move_tail(upper, 0, lower, CHUNK_GAPS / 2);
    upper->count = CHUNK_GAPS - CHUNK_GAPS / 2;
    lower->count = CHUNK_GAPS / 2;
    if (gaps->by_size)
        return;
    gaps->largest[at] = largest_of(lower);
    gaps->largest[at + 1] = largest_of(upper);
}

/* Finds the chunk for a gap and makes space in it. Returns false if memory is exhausted. */
static bool find_room(struct gaps *gaps, uint64_t key, uint64_t rest, size_t *at)
{
    *at = chunk_of(gaps, key, rest);
    if (gaps->chunks > 0 && gaps->chunk[*at]->count < CHUNK_GAPS)
        return true;
    if (!reserve(gaps))
        return false;
    if (gaps->chunks == 0)
        add_chunk(gaps, 0);
    else
        halve(gaps, *at);
    *at = chunk_of(gaps, key, rest);
    return true;
}

bool gaps_insert(struct gaps *gaps, uint64_t address, uint64_t size, uint32_t block)
{
    uint64_t key = gaps->by_size ? size : address;
    uint64_t rest = gaps->by_size ? address : size;
    size_t at;
    if (!find_room(gaps, key, rest, &at))
        return false;
    struct gap_chunk *chunk = gaps->chunk[at];
    uint32_t index = chunk->count == 0 ? 0 : index_of(chunk, key, rest);
    move_tail(chunk, index + 1, chunk, index);
    chunk->count++;
    chunk->key[index] = key;
    chunk->rest[index] = rest;
    chunk->block[index] = block;
    if (!gaps->by_size && size > gaps->largest[at])
        gaps->largest[at] = size;
    return true;
}

void gaps_remove(struct gaps *gaps, uint64_t address, uint64_t size)
{
    uint64_t key = gaps->by_size ? size : address;
    uint64_t rest = gaps->by_size ? address : size;
    size_t at = chunk_of(gaps, key, rest);
    struct gap_chunk *chunk = gaps->chunk[at];
    uint32_t index = index_of(chunk, key, rest);
    move_tail(chunk, index, chunk, index + 1);
    chunk->count--;
    if (chunk->count == 0)
        remove_chunk(gaps, at);
    else if (!gaps->by_size && size == gaps->largest[at])
        gaps->largest[at] = largest_of(chunk);
}

bool gaps_change(struct gaps *gaps, uint64_t address, uint64_t size, uint64_t to_address,
                 uint64_t to_size, uint32_t block)
{
    if (gaps->by_size) {
        gaps_remove(gaps, address, size);
        return gaps_insert(gaps, to_address, to_size, block);
    }
    size_t at = chunk_of(gaps, address, size);
    struct gap_chunk *chunk = gaps->chunk[at];
    uint32_t index = index_of(chunk, address, size);
    chunk->key[index] = to_address;
    chunk->rest[index] = to_size;
    if (to_size >= gaps->largest[at])
        gaps->largest[at] = to_size;
    else if (size == gaps->largest[at])
        gaps->largest[at] = largest_of(chunk);
    return true;
}

uint32_t gaps_first_fit(const struct gaps *gaps, uint64_t size)
{
    size_t at = 0;
    while (at < gaps->chunks && gaps->largest[at] < size)
        at++;
    if (at == gaps->chunks)
        return NONE;
    const struct gap_chunk *chunk = gaps->chunk[at];
    uint32_t index = 0;
    while (chunk->rest[index] < size)
        index++;
    return chunk->block[index];
}

struct gap_place gaps_best_fit(const struct gaps *gaps, uint64_t size)
{
    struct gap_place place = {0, 0};
    if (gaps->chunks == 0)
        return place;
    place.chunk = chunk_of(gaps, size, 0);
    place.index = index_of(gaps->chunk[place.chunk], size, 0);
    return place;
}

uint32_t gaps_next(const struct gaps *gaps, struct gap_place *place)
{
    if (place->chunk < gaps->chunks && place->index == gaps->chunk[place->chunk]->count)
        *place = (struct gap_place){place->chunk + 1, 0};
    if (place->chunk >= gaps->chunks)
        return NONE;
    return gaps->chunk[place->chunk]->block[place->index++];
}
