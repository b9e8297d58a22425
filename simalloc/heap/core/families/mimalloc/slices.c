#include "families/mimalloc/slices.h"

#include <stdlib.h>

/* Returns a mask of `count` bits from `index` on, within the word that contains bit `index`. */
static uint64_t mask_of(uint32_t index, uint32_t count)
{
    uint64_t bits = count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    return bits << index % 64;
}

/* Returns the number of bits in [index, end) that are in the same word as the first. */
static uint32_t part_of(uint32_t index, uint32_t end)
{
    uint32_t room = 64 - index % 64;
    return end - index < room ? end - index : room;
}

bool bits_have_all(const uint64_t *bits, uint32_t index, uint32_t count)
{
    for (uint32_t end = index + count, part; index < end; index += part) {
        part = part_of(index, end);
        if (~bits[index / 64] & mask_of(index, part))
            return false;
    }
    return true;
}

uint32_t bits_set(uint64_t *bits, uint32_t index, uint32_t count)
{
    uint32_t changed = 0;
    for (uint32_t end = index + count, part; index < end; index += part) {
        part = part_of(index, end);
        uint64_t mask = mask_of(index, part);
        changed += (uint32_t)__builtin_popcountll(mask & ~bits[index / 64]);
        bits[index / 64] |= mask;
    }
    return changed;
}

void bits_clear(uint64_t *bits, uint32_t index, uint32_t count)
{
    for (uint32_t end = index + count, part; index < end; index += part) {
        part = part_of(index, end);
        bits[index / 64] &= ~mask_of(index, part);
    }
}

bool slices_init(struct slice_map *map, uint32_t chunks)
{
    map->chunks = calloc(chunks, sizeof *map->chunks);
    if (map->chunks == NULL)
        return false;
    map->count = chunks;
    for (uint32_t i = 0; i < chunks; i++) {
        map->chunks[i].kind = ANY_RUNS;
        map->chunks[i].is_hopeful = true;
        bits_set(map->chunks[i].free, 0, CHUNK);
    }
    return true;
}

bool slices_are_free(const struct slice_map *map, uint32_t index)
{
    return index / CHUNK < map->count &&
           (map->chunks[index / CHUNK].free[index % CHUNK / 64] >> index % 64 & 1) != 0;
}

static enum chunk_kind kind_of(uint32_t count)
{
    if (count > CHUNK)
        return HUGE_RUNS;
    if (count == 1)
        return SMALL_RUNS;
    return count == 8 ? MEDIUM_RUNS : count == 64 ? LARGE_RUNS : OTHER_RUNS;
}

static bool is_used_up(const struct chunk *chunk)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < WORDS_OF_CHUNK; i++)
        any |= chunk->free[i];
    return any == 0;
}

static bool is_all_free(const struct chunk *chunk)
{
    return bits_have_all(chunk->free, 0, CHUNK);
}

/* Returns the first set (or clear) bit at or above `from`, or CHUNK after the last. */
static uint32_t next_bit(const struct chunk *chunk, uint32_t from, bool set)
{
    while (from < CHUNK) {
        uint64_t word = set ? chunk->free[from / 64] : ~chunk->free[from / 64];
        word >>= from % 64;
        if (word != 0)
            return from + (uint32_t)__builtin_ctzll(word);
        from = (from / 64 + 1) * 64;
    }
    return CHUNK;
}

/* Returns the first of eight free slices at a multiple of eight, or CHUNK. */
static uint32_t find_eight(const struct chunk *chunk)
{
    const uint64_t low = UINT64_C(0x0101010101010101);
    for (uint32_t i = 0; i < WORDS_OF_CHUNK; i++) {
        uint64_t word = chunk->free[i];
        word &= word >> 4;
        word &= word >> 2;
        word &= word >> 1;
        word &= low;
        if (word != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return CHUNK;
}

/* Returns the start of a run of free slices in a chunk, or CHUNK. */
static uint32_t find_run(const struct chunk *chunk, uint32_t count)
{
    if (count == 8)
        return find_eight(chunk);
    uint32_t first = next_bit(chunk, 0, true);
    while (first < CHUNK) {
        uint32_t end = next_bit(chunk, first, false);
        if (end - first >= count)
            return first;
        first = next_bit(chunk, end, true);
    }
    return CHUNK;
}

/* Returns the start of a run of free slices in a chunk of the map, or NO_SLICE. Marks a chunk
 * without a free slice as not hopeful. */
static uint32_t find_in(struct slice_map *map, uint32_t number, uint32_t count)
{
    struct chunk *chunk = &map->chunks[number];
    uint32_t first = find_run(chunk, count);
    if (first == CHUNK && is_used_up(chunk)) {
        chunk->is_hopeful = false;
        if (number > map->highest)
            map->highest = number;
    }
    return first == CHUNK ? NO_SLICE : number * CHUNK + first;
}

static uint32_t find_of_kind(struct slice_map *map, uint32_t group, const struct rotation *chunks,
                             enum chunk_kind kind, uint32_t count)
{
    for (uint32_t place = 0; place < chunks->end; place++) {
        uint32_t number = group * CHUNKS_OF_GROUP + rotated(chunks, place);
        if (number >= map->count || map->chunks[number].kind != kind ||
            !map->chunks[number].is_hopeful)
            continue;
        uint32_t index = find_in(map, number, count);
        if (index != NO_SLICE)
            return index;
    }
    return NO_SLICE;
}

/* Returns the start of a run of entirely free chunks with `count` slices, or NO_SLICE. */
static uint32_t find_chunks(const struct slice_map *map, uint32_t count)
{
    uint32_t wanted = (count + CHUNK - 1) / CHUNK;
    uint32_t found = 0;
    for (uint32_t number = 0; number < map->count; number++) {
        found = is_all_free(&map->chunks[number]) ? found + 1 : 0;
        if (found == wanted)
            return (number + 1 - wanted) * CHUNK;
    }
    return NO_SLICE;
}

uint32_t slices_find(struct slice_map *map, uint32_t count, uint32_t sequence)
{
    if (count > CHUNK)
        return find_chunks(map, count);
    uint32_t highest = map->highest;
    uint32_t group_count = (map->count + CHUNKS_OF_GROUP - 1) / CHUNKS_OF_GROUP;
    struct rotation groups = rotation(sequence, highest / CHUNKS_OF_GROUP + 1, group_count);
    uint32_t index = NO_SLICE;
    for (uint32_t place = 0; place < group_count && index == NO_SLICE; place++) {
        uint32_t group = rotated(&groups, place);
        uint32_t wrap = CHUNKS_OF_GROUP;
        if (group == highest / CHUNKS_OF_GROUP)
            wrap = highest % CHUNKS_OF_GROUP + 1;
        struct rotation chunks = rotation(sequence, wrap, CHUNKS_OF_GROUP);
        for (enum chunk_kind kind = 0; kind <= kind_of(count) && index == NO_SLICE; kind++)
            index = find_of_kind(map, group, &chunks, kind, count);
        if (index == NO_SLICE)
            index = find_of_kind(map, group, &chunks, ANY_RUNS, count);
    }
    return index;
}

/* Returns the number of slices in [index, end) that are in the same chunk as the first. */
static uint32_t in_chunk(uint32_t index, uint32_t end)
{
    uint32_t room = CHUNK - index % CHUNK;
    return end - index < room ? end - index : room;
}

void slices_take(struct slice_map *map, uint32_t index, uint32_t count)
{
    for (uint32_t end = index + count, part; index < end; index += part) {
        part = in_chunk(index, end);
        bits_clear(map->chunks[index / CHUNK].free, index % CHUNK, part);
    }
}

void slices_keep_for(struct slice_map *map, uint32_t index, uint32_t count)
{
    enum chunk_kind kind = kind_of(count);
    for (uint32_t end = index + count; index < end; index += in_chunk(index, end)) {
        struct chunk *chunk = &map->chunks[index / CHUNK];
        if (index % CHUNK == 0 && chunk->kind == ANY_RUNS)
            chunk->kind = (uint8_t)kind;
    }
}

void slices_put(struct slice_map *map, uint32_t index, uint32_t count)
{
    for (uint32_t end = index + count, part; index < end; index += part) {
        struct chunk *chunk = &map->chunks[index / CHUNK];
        part = in_chunk(index, end);
        bits_set(chunk->free, index % CHUNK, part);
        chunk->is_hopeful = true;
        if (index / CHUNK > map->highest)
            map->highest = index / CHUNK;
        if (is_all_free(chunk))
            chunk->kind = ANY_RUNS;
    }
}
