/* Making and freeing groups of slots in musl's malloc. */
#include <stdlib.h>

#include "families/musl/musl.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    SMALL_CLASSES = 9,
    MAX_BYTES = 1 << 20, /* upper bound of a group's bytes, exclusive */
    SOON = 10, /* a mapping less than this number of steps after an unmapping is a bounce */
    REMEMBERED = 150,
    LAST_STEP = 255,
    RECORDS = 101, /* number of group records in a page of the break */
    HOST_MARK = 6,
};

/* Converts sizes in units of 16 bytes to bytes. */
#define SIZE(units) (UNIT * (units))
#define FOUR_SIZES(a, b, c, d) SIZE(a), SIZE(b), SIZE(c), SIZE(d)

const uint32_t musl_sizes[CLASSES] = {
    FOUR_SIZES(1, 2, 3, 4),           FOUR_SIZES(5, 6, 7, 8),
    FOUR_SIZES(9, 10, 12, 15),        FOUR_SIZES(18, 20, 25, 31),
    FOUR_SIZES(36, 42, 50, 63),       FOUR_SIZES(72, 84, 102, 127),
    FOUR_SIZES(146, 170, 204, 255),   FOUR_SIZES(292, 340, 409, 511),
    FOUR_SIZES(584, 682, 818, 1023),  FOUR_SIZES(1169, 1364, 1637, 2047),
    FOUR_SIZES(2340, 2730, 3276, 4095), FOUR_SIZES(4680, 5460, 6552, 8191),
};

/* Slots of a new group in small classes: the first count with 4 * count <= slots in use, or the
 * last count if none is that small. */
static const uint8_t small_counts[SMALL_CLASSES][3] = {
    {30, 30, 30}, {31, 15, 15}, {20, 10, 10}, {31, 15, 7}, {25, 12, 6},
    {21, 10, 5},  {18, 8, 4},   {31, 15, 7},  {28, 14, 6},
};
static const uint8_t counts[4] = {28, 24, 20, 32};

uint32_t musl_class_of(uint64_t size)
{
    uint32_t low = 0;
    for (uint32_t high = CLASSES - 1; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (musl_sizes[middle] < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the initial number of slots of a new group. */
static uint32_t slot_count(const struct musl *state, uint32_t class, uint64_t usage)
{
    uint64_t size = musl_sizes[class];
    uint32_t count;
    if (class < SMALL_CLASSES) {
        unsigned column = 0;
        while (column < 2 && 4U * small_counts[class][column] > usage)
            column++;
        count = small_counts[class][column];
    } else {
        count = counts[class % 4];
        while (count % 2 == 0 && UINT64_C(4) * count > usage)
            count /= 2;
        while (size * count >= MAX_BYTES)
            count /= 2;
    }
    return count == 1 && size + state->head <= MUSL_PAGE / 2 ? 2 : count;
}

/* Returns the number of slots of a mapped group whose class has few slots in use. */
static uint32_t lowered_count(uint32_t class, uint32_t count)
{
    uint64_t size = (uint64_t)musl_sizes[class] * count;
    if (class % 4 == 1 && size > 8 * MUSL_PAGE)
        return 2;
    if (class % 4 == 2 && size > 4 * MUSL_PAGE)
        return 3;
    if (class % 4 == 0 && size > 8 * MUSL_PAGE)
        return 3;
    return class % 4 == 0 && size > 2 * MUSL_PAGE ? 5 : count;
}

/* Returns the number of a new group, which is zeroed. Returns NO_GROUP, with the heap's failure
 * set, if memory is exhausted. */
static uint32_t new_number(struct musl *state)
{
    struct musl_groups *groups = &state->groups;
    uint32_t number = groups->unused;
    if (number != NO_GROUP)
        groups->unused = groups->of[number].next;
    else if (heap_needs(&state->heap, TABLE_SPARE(groups->of, groups->used, 1,
                                                  UINT32_MAX / MAX_SLOTS, groups->capacity)))
        number = groups->used++;
    else
        return NO_GROUP;
    groups->of[number] =
        (struct musl_group){.host = NO_GROUP, .next = NO_GROUP, .previous = NO_GROUP};
    return number;
}

/* Uses a record for a group. If no record is unused, raises the break by a page of records; the
 * first page follows a guard page. */
static void take_record(struct musl *state)
{
    struct heap *heap = &state->heap;
    if (state->tag == 0)
        return;
    if (state->spare_records > 0) {
        state->spare_records--;
        return;
    }
    if (state->records++ % RECORDS != 0)
        return;
    uint32_t id = heap_need(heap, heap_extend(heap, heap->brk == 0 ? 2 * MUSL_PAGE : MUSL_PAGE));
    if (id == NO_BLOCK)
        return;
    heap->counters.growths++;
    heap_mark(heap, id, STATE_TABLE);
    heap_touch(heap, heap->brk - MUSL_PAGE, 1);
}

/* Counts a step: the mapping of a group or large object, or the unmapping of a group. */
static void advance(struct musl *state)
{
    if (state->step++ < LAST_STEP)
        return;
    state->step = 1;
    for (uint32_t class = 0; class < CLASSES; class++)
        state->unmapped_at[class] = 0;
}

static void count_bounce(struct musl *state, uint32_t class)
{
    uint32_t last = state->unmapped_at[class];
    if (last == 0 || state->step - last >= SOON || !state->bounce)
        return;
    uint32_t *bounces = &state->bounces[class];
    *bounces = *bounces + 1 >= BOUNCING ? REMEMBERED : *bounces + 1;
}

/* Maps memory. Returns NO_BLOCK, with the heap's failure set, if that is impossible. */
static uint32_t map(struct musl *state, struct musl_mapping *mapping, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t id = heap_map_segment(heap, size, 1);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    *mapping = (struct musl_mapping){
        .base = heap->blocks[id].address,
        .size = size,
        .number = (uint32_t)state->calls.mmaps++,
    };
    return id;
}

/* Cuts a block of waste into the slots of a group. */
static void lay_out(struct musl *state, uint32_t number, uint32_t id)
{
    struct heap *heap = &state->heap;
    struct musl_group *group = group_of(state, number);
    if (state->head > 0) {
        uint32_t rest = heap_cut_off(heap, id, state->head);
        heap_mark(heap, id, STATE_TABLE);
        heap_touch(heap, heap->blocks[id].address, state->head);
        id = rest;
    }
    group->first = heap->blocks[id].address;
    for (uint32_t slot = 0; slot < group->count; slot++) {
        uint32_t rest = NO_BLOCK;
        if (heap->blocks[id].size > group->stride)
            rest = heap_cut_off(heap, id, group->stride);
        heap->blocks[id].family_data = number * MAX_SLOTS + slot;
        heap_mark(heap, id, STATE_FREE);
        group->slots[slot] = id;
        id = rest;
    }
}

/* Returns the size of a group's mapping, and stores its number of slots. */
static uint64_t mapping_size(const struct musl *state, uint32_t class, uint64_t request,
                             bool is_kept, uint32_t *count)
{
    uint64_t slot = musl_sizes[class];
    uint64_t usage = state->usage[class];
    if (class % 2 == 0 && class < 32)
        usage += state->usage[class + 1];
    if (UINT64_C(4) * *count > usage && !is_kept)
        *count = lowered_count(class, *count);
    uint64_t size = round_up(slot * *count + state->head, MUSL_PAGE);
    uint64_t alone = round_up(request + state->tag + state->head, MUSL_PAGE);
    if (is_kept || *count > 7)
        return size;
    if (alone >= slot + state->head && (alone < 4 * MUSL_PAGE || UINT64_C(2) * *count <= usage))
        return size;
    *count = 1;
    return alone;
}

/* Maps memory for a group. Returns false, with the heap's failure set, if that is impossible. */
static bool map_group(struct musl *state, uint32_t number, uint32_t class, uint64_t request,
                      uint32_t count)
{
    bool is_kept = state->bounces[class] >= BOUNCING;
    uint32_t slot = musl_sizes[class];
    count_bounce(state, class);
    advance(state);
    uint64_t size = mapping_size(state, class, request, is_kept, &count);
    struct musl_group *group = group_of(state, number);
    group->lowest = map(state, &group->mapping, size);
    if (group->lowest == NO_BLOCK)
        return false;
    group->mapping.bytes = calloc(size / UNIT, 2);
    if (!heap_needs(&state->heap, group->mapping.bytes != NULL))
        return false;
    uint32_t at_first = (uint32_t)(MUSL_PAGE - state->head) / slot;
    at_first = at_first < 1 ? 1 : at_first < count ? at_first : count;
    group->root = number;
    group->class = class;
    group->count = count;
    group->stride = count > 1 ? slot : size - state->head;
    group->active = at_first - 1;
    group->avail = active_slots(group);
    group->freed = all_slots(group) - group->avail;
    lay_out(state, number, group->lowest);
    return true;
}

/* Places a group in a slot of a larger class. Returns false, with the heap's failure set, if that
 * is impossible. */
static bool nest_group(struct musl *state, uint32_t number, uint32_t class, uint32_t count)
{
    struct heap *heap = &state->heap;
    uint64_t bytes = state->head + (uint64_t)musl_sizes[class] * count;
    uint32_t host_class = musl_class_of(bytes);
    struct musl_slot host = musl_take_slot(state, host_class, bytes - state->tag);
    if (host.group == NO_GROUP)
        return false;
    const struct musl_group *outer = group_of(state, host.group);
    uint64_t size = musl_sizes[host_class] - state->tag;
    uint64_t at = musl_place(state, host, size);
    uint64_t start = slot_start(outer, host.slot);
    musl_begin(state, host, at);
    musl_end(state, host, at, size);
    musl_write_header(state, host, at, host.slot + (HOST_MARK << 5), (at - outer->first) / UNIT);
    uint32_t id = outer->slots[host.slot];
    struct musl_group *group = group_of(state, number);
    *group = (struct musl_group){
        .stride = musl_sizes[class],
        .root = outer->root,
        .host = host.group,
        .host_slot = host.slot,
        .next = NO_GROUP,
        .previous = NO_GROUP,
        .lowest = id,
        .class = class,
        .count = count,
        .active = count - 1,
    };
    group->avail = all_slots(group);
    heap_mark(heap, id, STATE_WASTE);
    lay_out(state, number, at > start ? heap_cut_off(heap, id, at - start) : id);
    for (uint32_t slot = 0; slot <= count && state->tag > 0; slot++)
        heap_touch(heap, slot_start(group, slot) - state->tag, 1);
    return true;
}

/* Releases the number of a group whose memory was refused. Returns NO_GROUP. */
static uint32_t give_number_back(struct musl *state, uint32_t number)
{
    *group_of(state, number) = (struct musl_group){.next = state->groups.unused};
    state->groups.unused = number;
    return NO_GROUP;
}

uint32_t musl_new_group(struct musl *state, uint32_t class, uint64_t size)
{
    uint32_t number = new_number(state);
    if (number == NO_GROUP || !musl_reserve(state, BLOCKS_OF_GROUP))
        return NO_GROUP;
    take_record(state);
    uint32_t count = slot_count(state, class, state->usage[class]);
    bool is_mapped = (uint64_t)musl_sizes[class] * count + state->head > MUSL_PAGE / 2;
    if (is_mapped ? !map_group(state, number, class, size, count)
                  : !nest_group(state, number, class, count)) {
        state->spare_records += state->tag > 0;
        return give_number_back(state, number);
    }
    state->usage[class] += group_of(state, number)->count;
    return number;
}

uint32_t musl_map_alone(struct musl *state, uint64_t size)
{
    uint32_t number = new_number(state);
    if (number == NO_GROUP)
        return NO_GROUP;
    struct musl_group *group = group_of(state, number);
    size = round_up(size + state->tag + state->head, MUSL_PAGE);
    group->lowest = map(state, &group->mapping, size);
    if (group->lowest == NO_BLOCK)
        return give_number_back(state, number);
    advance(state);
    take_record(state);
    group->root = number;
    group->class = ALONE;
    group->count = 1;
    group->stride = size - state->head;
    lay_out(state, number, group->lowest);
    return number;
}

uint32_t musl_remap(struct musl *state, uint32_t number, uint64_t size)
{
    struct heap *heap = &state->heap;
    struct musl_group *group = group_of(state, number);
    struct musl_mapping *mapping = &group->mapping;
    uint32_t old = group->lowest;
    if (size > mapping->size && !heap_has_room(heap, size - mapping->size))
        return heap_refuse(heap);
    heap_join_all(heap, old, mapping->size);
    uint32_t id = heap_map_in_place_of(heap, size, mapping->size);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t base = heap->blocks[id].address;
    uint64_t moved = size < mapping->size ? size : mapping->size;
    heap_take_pages(heap, base, mapping->base, moved);
    heap_unmap_segment(heap, old);
    state->calls.mremaps++;
    mapping->base = base;
    mapping->size = size;
    group->lowest = id;
    group->stride = size - state->head;
    lay_out(state, number, id);
    heap_mark(heap, group->slots[0], STATE_ALLOCATED);
    return group->slots[0];
}

void musl_drop_group(struct musl *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct musl_group *group = group_of(state, number);
    const struct musl_slot host = {group->host, group->host_slot};
    bool is_nested = host.group != NO_GROUP;
    uint32_t class = group->class;
    uint32_t id = group->lowest;
    heap_join_all(heap, id,
                  is_nested ? group_of(state, host.group)->stride : group->mapping.size);
    if (class != ALONE)
        state->usage[class] -= group->count;
    state->spare_records++;
    free(group->mapping.bytes);
    *group = (struct musl_group){.next = state->groups.unused};
    state->groups.unused = number;
    if (is_nested) {
        heap_mark(heap, id, STATE_FREE);
        heap->blocks[id].family_data = host.group * MAX_SLOTS + host.slot;
        musl_free_slot(state, host);
        return;
    }
    advance(state);
    if (class >= FIRST_COUNTED && class < END_COUNTED)
        state->unmapped_at[class] = state->step;
    state->calls.munmaps++;
    heap_unmap_segment(heap, id);
}

void musl_groups_release(struct musl *state)
{
    for (uint32_t number = 0; number < state->groups.used; number++)
        free(group_of(state, number)->mapping.bytes);
    table_release(state->groups.of);
}
