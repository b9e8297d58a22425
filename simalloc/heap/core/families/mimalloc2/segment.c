/* Segments of mimalloc 2: their allocation, their cache, and their committed slices. */
#include "families/mimalloc2/mimalloc2.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_START = 264, /* bytes of a segment's header before the records of its slices */
    SLICE_RECORD = 80,
    HEADER = HEADER_START + (SLICES + 1) * SLICE_RECORD,
    RECORD_WRITTEN = 72, /* bytes written to the record of a span's first slice */
    LINK_WRITTEN = 32, /* bytes written to the record of a further slice, to link it to the first */
    /* maximum number of a page's slices that link to its first slice, besides the last */
    MAX_LINKED = 255,
    COMMIT_UNIT = 16,    /* number of slices that are committed together */
    SLOTS_SEARCHED = 16, /* slots of cached segments that a purge without force searches */
    MAX_PURGED = 4,      /* maximum number of segments that a purge without force decommits */
};

static void commit(struct mimalloc2 *state, struct segment *segment, uint32_t index,
                   uint32_t count)
{
    state->mi.committed += bits_set(segment->committed, index, count) * SLICE;
}

static uint64_t count_bits(const uint64_t *bits)
{
    uint64_t count = 0;
    for (unsigned word = 0; word < WORDS_OF_CHUNK; word++)
        count += (uint64_t)__builtin_popcountll(bits[word]);
    return count;
}

static bool is_bit(const uint64_t *bits, uint32_t index)
{
    return (bits[index / 64] >> index % 64 & 1) != 0;
}

/* Decommits the committed slices of a run. */
static void decommit(struct mimalloc2 *state, struct segment *segment, uint32_t index,
                     uint32_t count)
{
    uint64_t before = count_bits(segment->committed);
    bits_clear(segment->committed, index, count);
    bits_clear(segment->waiting, index, count);
    state->mi.committed -= (before - count_bits(segment->committed)) * SLICE;
    heap_discard(&state->mi.heap, segment->start + index * SLICE, count * SLICE);
}

/* Decommits the slices of a bitmap. */
static void decommit_bits(struct mimalloc2 *state, struct segment *segment, const uint64_t *given)
{
    uint64_t bits[WORDS_OF_CHUNK];
    memcpy(bits, given, sizeof bits);
    for (uint32_t index = 0; index < SLICES; index++) {
        uint32_t end = index;
        while (end < SLICES && is_bit(bits, end))
            end++;
        if (end > index)
            decommit(state, segment, index, end - index);
        index = end;
    }
}

void segment_use(struct mimalloc2 *state, struct segment *segment, uint32_t index, uint32_t count)
{
    if (segment->is_huge || (count_bits(segment->waiting) == 0 &&
                             bits_have_all(segment->committed, 0, SLICES)))
        return;
    uint32_t start = index / COMMIT_UNIT * COMMIT_UNIT;
    uint32_t end = (index + count + COMMIT_UNIT - 1) / COMMIT_UNIT * COMMIT_UNIT;
    start = start < state->first ? state->first : start;
    commit(state, segment, start, end - start);
    uint64_t waiting = count_bits(segment->waiting);
    bits_clear(segment->waiting, start, end - start);
    if (count_bits(segment->waiting) < waiting)
        segment->expire = clock_of(&state->mi) + state->decommit_delay;
}

/* Schedules committed slices for decommitting. Sets or extends the time of the decommit, or
 * decommits slices that are long due. */
static void let_wait(struct mimalloc2 *state, struct segment *segment, uint32_t index,
                     uint32_t count)
{
    uint64_t now = clock_of(&state->mi);
    uint64_t extend = state->decommit_extend_delay;
    for (uint32_t slice = index; slice < index + count; slice++)
        if (is_bit(segment->committed, slice))
            bits_set(segment->waiting, slice, 1);
    if (segment->expire == 0)
        segment->expire = now + state->decommit_delay;
    else if (segment->expire + extend <= now)
        segment_decommit_due(state, segment, true);
    else if (segment->expire <= now)
        segment->expire = now + extend;
    else
        segment->expire += extend;
}

void segment_leave(struct mimalloc2 *state, struct segment *segment, uint32_t index,
                   uint32_t count)
{
    if (!state->allow_decommit || segment->is_huge || segment->is_reserved)
        return;
    if (state->decommit_delay == 0)
        decommit(state, segment, index, count);
    else
        let_wait(state, segment, index, count);
}

void segment_decommit_due(struct mimalloc2 *state, struct segment *segment, bool force)
{
    if (count_bits(segment->waiting) == 0 || (!force && clock_of(&state->mi) < segment->expire))
        return;
    segment->expire = 0;
    decommit_bits(state, segment, segment->waiting);
}

/* Takes a segment for `size` bytes from the reserve, or maps one, and stores its free part in
 * `block`. The caller makes the spans. Returns NULL, with the heap's failure set, if that is
 * impossible. */
static struct segment *map(struct mimalloc2 *state, uint64_t size, bool is_huge, uint32_t *block)
{
    struct heap *heap = &state->mi.heap;
    struct segment *segment = calloc(1, sizeof *segment);
    bool has_room = TABLE_SPARE(state->segments, state->segment_count, 1, UINT32_MAX,
                                state->segment_capacity);
    /* Bytes of the header, which are cleared if the memory was used before. They may exceed the
     * header's slice. */
    uint64_t header = HEADER_START + (round_up(size, SLICE) / SLICE + 1) * SLICE_RECORD;
    size = system_size(size, 4 * KIB);
    bool is_written = false;
    bool is_ready = heap_needs(heap, segment != NULL && has_room);
    uint32_t id = is_ready ? reserve_take(state, size, &is_written) : NO_BLOCK;
    bool is_reserved = id != NO_BLOCK;
    if (!is_reserved && heap->failure == NULL)
        id = heap_map_segment(heap, size, SEGMENT);
    if (id == NO_BLOCK) {
        free(segment);
        return NULL;
    }
    uint32_t number = 1;
    while (number < state->segment_count && state->segments[number] != NULL)
        number++;
    state->segment_count += number == state->segment_count;
    state->segments[number] = segment;
    *segment = (struct segment){
        .number = number,
        .start = heap->blocks[id].address,
        .relative = state->mi.hint,
        .size = heap->blocks[id].size,
        .is_huge = is_huge,
        .is_reserved = is_reserved,
    };
    if (is_reserved) {
        segment->relative = segment->start - state->reserve.start;
    } else {
        state->mi.hint += round_up(size, SEGMENT);
        heap->counters.growths++;
    }
    if (state->first > 0) {
        segment->header = id;
        id = heap_cut_off(heap, id, SLICE);
        heap_mark(heap, segment->header, STATE_TABLE);
        heap_touch(heap, segment->start, is_written ? header : HEADER_START);
    }
    heap_mark(heap, id, STATE_FREE);
    *block = id;
    return segment;
}

/* Returns the lowest slot that is in use (or unused), or KEPT_SEGMENTS after the last. */
static uint32_t lowest_slot(const struct mimalloc2 *state, bool in_use)
{
    for (uint32_t word = 0; word < KEPT_SEGMENTS / 64; word++) {
        uint64_t bits = in_use ? state->filled[word] : ~state->filled[word];
        if (bits != 0)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return KEPT_SEGMENTS;
}

struct segment *segment_take(struct mimalloc2 *state, struct theap *theap)
{
    uint32_t slot = lowest_slot(state, true);
    struct segment *segment;
    uint32_t block;
    if (slot < KEPT_SEGMENTS) {
        segment = state->kept[slot].segment;
        bits_clear(state->filled, slot, 1);
        block = segment->spans[state->first].block;
        if (state->first > 0)
            heap_touch(&state->mi.heap, segment->start, HEADER);
    } else {
        bool is_lazy = state->threads > 1 && theap->segments < state->eager_commit_delay;
        segment = map(state, SEGMENT, false, &block);
        if (segment == NULL)
            return NULL;
        if (segment->is_reserved)
            bits_set(segment->committed, 0, SLICES);
        else if (state->eager_commit && !is_lazy)
            commit(state, segment, 0, SLICES);
        /* memory that is committed in parts is cleared by writing zeros */
        else if (state->first > 0)
            heap_touch(&state->mi.heap, segment->start, HEADER);
    }
    commit(state, segment, 0, state->first);
    segment->expire = segment->used = segment->abandoned = segment->visits = 0;
    segment->owner = theap;
    theap->segments++;
    span_set(state, segment, state->first,
             (struct span){.count = SLICES - state->first, .block = block});
    span_enter(state, segment, state->first);
    return segment;
}

struct segment *segment_take_huge(struct mimalloc2 *state, struct theap *theap, uint64_t size)
{
    uint64_t room = round_up(size, SLICE);
    uint64_t front = state->first * SLICE;
    uint32_t block;
    struct segment *segment = map(state, size + front, true, &block);
    if (segment == NULL)
        return NULL;
    state->mi.committed += segment->is_reserved ? 0 : segment->size;
    segment->owner = theap;
    if (segment->size > front + room)
        heap_mark(&state->mi.heap, heap_cut_off(&state->mi.heap, block, room), STATE_WASTE);
    segment->spans[state->first] = (struct span){
        .count = (uint32_t)(room / SLICE),
        .block = block,
    };
    return segment;
}

/* Joins all blocks of a segment and unmaps it. */
static void unmap(struct mimalloc2 *state, struct segment *segment)
{
    struct heap *heap = &state->mi.heap;
    uint32_t id = segment->spans[state->first].block;
    heap_mark(heap, id, STATE_WASTE);
    if (segment->header != NO_BLOCK) {
        heap_mark(heap, segment->header, STATE_WASTE);
        heap_join_previous(heap, id);
    }
    if (heap->blocks[id].size < segment->size)
        heap_join_next(heap, id);
    if (segment->is_reserved)
        reserve_give(state, id);
    else
        heap_unmap_segment(heap, id);
    state->segments[segment->number] = NULL;
    free(segment);
}

static void keep(struct mimalloc2 *state, struct segment *segment, uint32_t slot)
{
    bool is_going = count_bits(segment->committed) > 0 && !segment->is_reserved;
    if (is_going && state->allow_decommit && state->segment_decommit_delay == 0)
        decommit_bits(state, segment, segment->committed);
    bits_set(state->filled, slot, 1);
    state->kept[slot].segment = segment;
    state->kept[slot].expire = 0;
    if (is_going && state->segment_decommit_delay > 0)
        state->kept[slot].expire = clock_of(&state->mi) + state->segment_decommit_delay;
}

void segment_give(struct mimalloc2 *state, struct segment *segment)
{
    segment->owner = NULL;
    uint64_t slices = count_bits(segment->committed);
    if (segment->is_huge) {
        slices = state->first + segment->spans[state->first].count;
    } else {
        segments_purge(state, false);
        uint32_t slot = lowest_slot(state, false);
        if (slot < KEPT_SEGMENTS) {
            keep(state, segment, slot);
            return;
        }
    }
    state->mi.committed -= segment->is_reserved ? 0 : slices * SLICE;
    unmap(state, segment);
}

/* Returns the next number of the splitmix64 generator. */
static uint64_t shuffled(uint64_t number)
{
    uint64_t mixed = number == 0 ? 17 : number;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

void segments_purge(struct mimalloc2 *state, bool force)
{
    uint64_t now = clock_of(&state->mi);
    uint32_t first = force ? 0 : (uint32_t)(shuffled(now) % KEPT_SEGMENTS);
    uint32_t most = force ? KEPT_SEGMENTS : SLOTS_SEARCHED;
    uint32_t purged = 0;
    for (uint32_t searched = 0; searched < most && state->allow_decommit; searched++) {
        uint32_t slot = (first + searched) % KEPT_SEGMENTS;
        struct kept *kept = &state->kept[slot];
        if (!is_bit(state->filled, slot) || kept->expire == 0 || (now < kept->expire && !force))
            continue;
        kept->expire = 0;
        decommit_bits(state, kept->segment, kept->segment->committed);
        if (++purged > MAX_PURGED && !force)
            return;
    }
}

/* Writes the header's records of a span: its first and last slice, and for a page also the slices
 * between them. */
static void touch_records(struct mimalloc2 *state, const struct segment *segment, uint32_t index)
{
    const struct span *span = &segment->spans[index];
    uint64_t first = segment->start + HEADER_START + index * SLICE_RECORD;
    uint64_t links = span->page == NO_PAGE ? 0 : span->count - 1;
    links = links > MAX_LINKED ? MAX_LINKED : links;
    heap_touch(&state->mi.heap, first, RECORD_WRITTEN);
    if (links > 0)
        heap_touch(&state->mi.heap, first + SLICE_RECORD, (links - 1) * SLICE_RECORD + LINK_WRITTEN);
    uint64_t last = span->count > SLICES - index ? SLICES - index : span->count - 1;
    if (last > 0)
        heap_touch(&state->mi.heap, first + last * SLICE_RECORD, LINK_WRITTEN);
}

void span_set(struct mimalloc2 *state, struct segment *segment, uint32_t index, struct span span)
{
    segment->spans[index] = span;
    if (!segment->is_huge)
        segment->first_of[index + span.count - 1] = (uint16_t)index;
    if (state->first > 0)
        touch_records(state, segment, index);
}

void segments_release(struct mimalloc *mi)
{
    struct mimalloc2 *state = (struct mimalloc2 *)mi;
    for (uint32_t number = 1; number < state->segment_count; number++)
        free(state->segments[number]);
    table_release(state->segments);
}
