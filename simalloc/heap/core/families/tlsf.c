/* Two-level segregated fit (policy/families/tlsf.md). */
#include "index/block_ring.h"
#include "layers/define_layer.h"
#include "parts/coalescing.h"

enum { DIVISION = 32, LEVELS = 64, LISTS = LEVELS * DIVISION };

struct tlsf {
    struct heap heap;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least;            /* minimum bytes of a remainder that is split off */
    uint64_t header;           /* bytes of a block in excess of its contents */
    uint64_t levels;           /* bit l: a list of level l is not empty */
    uint32_t in_level[LEVELS]; /* bit i of level l: list 32 * l + i is not empty */
    uint32_t lists[LISTS];     /* newest block of each list, which is linked as a ring */
};

/* Returns the number of the list for a block's contents. Sets `begins` if they have the minimum
 * size of that list. */
ALWAYS_INLINE unsigned list_of(const struct tlsf *state, uint64_t holds, bool *begins)
{
    uint64_t word = state->heap.setting.word;
    uint64_t words = holds / word;
    if (words < 2 * DIVISION) { /* below 64 words, each word has a list */
        *begins = holds % word == 0;
        return (unsigned)words;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(words); /* at least 6 */
    uint64_t width = word << (power - 5);
    *begins = holds % width == 0;
    return (power - 5) * DIVISION + (unsigned)(holds / width);
}

static uint64_t holds(const struct tlsf *state, uint32_t id)
{
    uint64_t size = state->heap.blocks[id].size;
    return size > state->header ? size - state->header : 0;
}

/* Returns the number of the first list with a block, from `from` up, or LISTS. */
static unsigned first_list(const struct tlsf *state, unsigned from)
{
    unsigned level = from / DIVISION;
    uint32_t bits = state->in_level[level] & UINT32_MAX << from % DIVISION;
    if (bits == 0) {
        uint64_t higher = state->levels & UINT64_MAX << 1 << level;
        if (higher == 0)
            return LISTS;
        level = (unsigned)__builtin_ctzll(higher);
        bits = state->in_level[level];
    }
    return level * DIVISION + (unsigned)__builtin_ctz(bits);
}

static void insert(struct tlsf *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    heap_count_free(heap, id);
    if (heap->blocks[id].next == NO_BLOCK) { /* the tail */
        heap->blocks[id].index_slot = STATE_FREE;
        return;
    }
    bool begins;
    unsigned list = list_of(state, holds(state, id), &begins);
    if (block_ring_insert(&state->lists[list], heap->blocks, id, true)) {
        state->in_level[list / DIVISION] |= UINT32_C(1) << list % DIVISION;
        state->levels |= UINT64_C(1) << list / DIVISION;
    }
}

/* Removes a free block from its list. The block is then in state allocated, but is not counted as
 * allocated. */
static void take_out(struct heap *heap, uint32_t id)
{
    struct tlsf *state = (struct tlsf *)heap;
    heap->counters.free_blocks--;
    if (heap->blocks[id].index_slot == STATE_FREE) {
        heap->blocks[id].index_slot = STATE_ALLOCATED;
        return;
    }
    bool begins;
    unsigned list = list_of(state, holds(state, id), &begins);
    if (block_ring_remove(&state->lists[list], heap->blocks, id)) {
        state->in_level[list / DIVISION] &= ~(UINT32_C(1) << list % DIVISION);
        if (state->in_level[list / DIVISION] == 0)
            state->levels &= ~(UINT64_C(1) << list / DIVISION);
    }
}

/* Frees a block and merges it with its free neighbours. The block must not be counted as
 * allocated. */
static void enter(struct tlsf *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    coalesce(heap, id, take_out);
    insert(state, id);
}

/* Splits off the part of an allocated block beyond `size`, if that part has at least `least`
 * bytes. */
static void cut(struct tlsf *state, uint32_t id, uint64_t size, uint64_t least)
{
    struct heap *heap = &state->heap;
    if (heap->blocks[id].size - size < least)
        return;
    heap->counters.allocated -= heap->blocks[id].size - size;
    heap->counters.splits++;
    enter(state, heap_cut_high(heap, id, size));
}

/* Returns the bytes by which the break rises to extend a block at its end from `have` to `size`
 * bytes. */
static uint64_t growth_beyond(const struct tlsf *state, uint64_t have, uint64_t size)
{
    return round_up(size - have, state->growth);
}

/* Raises the break until the block at its end has `size` bytes. Without such a block, obtains
 * `size` bytes. Returns the new memory, merged with the block. */
static uint32_t raise_break(struct tlsf *state, uint32_t tail, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t have = tail == NO_BLOCK ? 0 : heap->blocks[tail].size;
    uint32_t id = heap_extend(heap, growth_beyond(state, have, size));
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    if (tail == NO_BLOCK)
        return id;
    heap_join_previous(heap, id);
    return id;
}

static uint64_t table_size(const struct heap *heap)
{
    uint64_t word = heap->setting.word;
    uint64_t levels = word == 4 ? 24 : 25;
    return 4 * word + round_up(4 * (levels + 1), word) + 32 * levels * word;
}

static uint32_t use_tail(struct tlsf *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t tail = heap_last(heap);
    if (!heap_is_free(heap, tail))
        return raise_break(state, NO_BLOCK, size);
    if (heap->blocks[tail].size >= size) {
        take_out(heap, tail);
        return tail;
    }
    if (!heap_has_room(heap, growth_beyond(state, heap->blocks[tail].size, size)))
        return heap_refuse(heap);
    take_out(heap, tail);
    heap->counters.coalescings++;
    return raise_break(state, tail, size);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct tlsf *state = (struct tlsf *)heap;
    if (heap->setting.mechanism && heap->brk == 0) {
        uint32_t table = heap_extend(heap, table_size(heap));
        if (table == NO_BLOCK)
            return NO_BLOCK;
        heap->blocks[table].index_slot = STATE_TABLE;
        heap->counters.growths++;
    }
    bool begins;
    unsigned list = list_of(state, size - state->header, &begins);
    list = first_list(state, list + !begins);
    count_search(heap, list < LISTS);
    uint64_t least = state->least;
    uint32_t id;
    if (list < LISTS) {
        id = state->lists[list];
        take_out(heap, id);
    } else {
        id = use_tail(state, size);
        if (id == NO_BLOCK)
            return NO_BLOCK;
        least = 1;
    }
    heap->counters.allocated += heap->blocks[id].size;
    cut(state, id, size, least);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    enter((struct tlsf *)heap, id);
}

/* Returns whether a block is the last one, or is followed only by the tail. */
static bool is_last(const struct heap *heap, uint32_t id)
{
    uint32_t above = heap->blocks[id].next;
    return above == NO_BLOCK ||
           (heap_is_free(heap, above) && heap->blocks[above].next == NO_BLOCK);
}

/* Extends a block into its free neighbour above, or raises the break. Returns false if that is not
 * sufficient. */
static bool expand(struct tlsf *state, uint32_t id, uint64_t size, bool last)
{
    struct heap *heap = &state->heap;
    uint32_t above = heap->blocks[id].next;
    uint64_t old = heap->blocks[id].size;
    bool free = heap_is_free(heap, above);
    uint64_t room = old + (free ? heap->blocks[above].size : 0);
    if (room < size && (!last || !heap_has_room(heap, growth_beyond(state, room, size))))
        return false;
    if (free) {
        take_out(heap, above);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (room < size) {
        uint32_t new = heap_extend(heap, growth_beyond(state, room, size));
        if (new == NO_BLOCK)
            return false;
        heap->counters.growths++;
        heap->counters.coalescings++;
        heap_join_next(heap, id);
    }
    heap->counters.allocated += heap->blocks[id].size - old;
    return true;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct tlsf *state = (struct tlsf *)heap;
    bool grows = size > heap->blocks[id].size;
    bool last = is_last(heap, id);
    if (grows && !expand(state, id, size, last))
        return false;
    cut(state, id, size, grows && last ? 1 : state->least);
    return true;
}

DEFINE_ONLY_LAYER(tlsf, false, allocate, release, heap_reserve, .resize = resize)

static bool init(void *memory)
{
    struct tlsf *state = memory;
    const struct setting *setting = &state->heap.setting;
    state->least = setting->minimum > state->minimum_split ? setting->minimum : state->minimum_split;
    state->header = setting->header;
    return true;
}

static const char *check(const void *memory)
{
    const struct tlsf *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t found = heap_is_free(heap, heap_last(heap));
    for (unsigned list = 0; list < LISTS; list++) {
        uint32_t first = state->lists[list];
        if ((first != NO_BLOCK) != (state->in_level[list / DIVISION] >> list % DIVISION & 1))
            return "the bit of a list does not match the list";
        for (uint32_t id = first; id != NO_BLOCK;) {
            bool begins;
            if (list_of(state, holds(state, id), &begins) != list)
                return "a block is in the list of another size";
            if (++found > heap->counters.free_blocks)
                return "a list has a cycle, or the free blocks are miscounted";
            id = heap->blocks[id].family_data;
            if (id == first)
                break;
        }
    }
    if (found != heap->counters.free_blocks)
        return "the lists do not hold exactly the free blocks";
    return heap_check(heap);
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct tlsf, growth),
    UNIT_PARAMETER(struct tlsf, minimum_split),
};

const struct family tlsf = {
    .name = "tlsf",
    .state_size = sizeof(struct tlsf),
    PARAMETERS(parameters),
    .blocks_an_event = 4,
    .init = init,
    .next_layer = next_layer,
    .check = check,
};
