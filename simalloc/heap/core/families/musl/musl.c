/* musl's malloc, mallocng (policy/families/musl.md). */
#include "families/musl/musl.h"

#include "layers/define_layer.h"
#include "space/residence.h"
#include "space/table.h"

enum { BLOCKS_AN_EVENT = 4 * BLOCKS_OF_GROUP };

static struct musl *state_of(struct heap *heap)
{
    return (struct musl *)heap;
}

static bool reserve_objects(struct musl *state)
{
    return TABLE_FOLLOW(state->objects, state->object_capacity, state->heap.capacity);
}

bool musl_reserve(struct musl *state, uint64_t blocks)
{
    if (!heap_reserve_more(&state->heap, blocks))
        return false;
    return heap_needs(&state->heap, reserve_objects(state));
}

/* Stores the start and size of an object, and encodes the size in its slot. */
static void enter(struct musl *state, uint32_t id, uint64_t at, uint64_t size)
{
    musl_end(state, slot_of(state, id), at, size);
    state->objects[id] = (struct musl_object){at, size};
}

/* Records that the program writes the bytes of an object, if it writes its objects. */
static void write_object(struct musl *state, uint32_t id)
{
    const struct musl_object object = state->objects[id];
    if (!state->heap.setting.program_writes)
        return;
    uint64_t unwritten = state->heap.request.unwritten;
    uint64_t written = object.size - (unwritten < object.size ? unwritten : object.size);
    heap_touch(&state->heap, object.at, written);
    musl_fill(state, slot_of(state, id), object, WRITTEN);
}

/* Zeroes a new object unless its pages are new. Whole pages that are zero are only read. */
static void zero_object(struct musl *state, uint32_t id)
{
    const struct musl_object object = state->objects[id];
    const struct musl_slot slot = slot_of(state, id);
    const struct musl_group *group = group_of(state, slot.group);
    uint64_t end = object.at + object.size;
    if (group->class == ALONE || group->stride < musl_sizes[group->class])
        return;
    musl_fill(state, slot, object, 0);
    if (object.size < MUSL_PAGE) {
        heap_touch(&state->heap, object.at, object.size);
        return;
    }
    heap_touch(&state->heap, object.at, round_up(object.at, MUSL_PAGE) - object.at);
    heap_touch(&state->heap, end - end % MUSL_PAGE, end % MUSL_PAGE);
}

/* Takes a slot or a mapping, and places an object in it. */
static uint32_t place(struct musl *state, uint64_t size)
{
    struct musl_slot slot = {0, 0};
    if (size >= MAPPED_FROM)
        slot.group = musl_map_alone(state, size);
    else
        slot = musl_find_slot(state, size);
    if (slot.group == NO_GROUP)
        return NO_BLOCK;
    uint32_t id = group_of(state, slot.group)->slots[slot.slot];
    uint64_t at = musl_place(state, slot, size);
    heap_mark(&state->heap, id, STATE_ALLOCATED);
    musl_begin(state, slot, at);
    enter(state, id, at, size);
    return id;
}

/* Places an object at a multiple of an alignment, in a slot with sufficient excess bytes. */
static uint32_t place_aligned(struct musl *state, uint64_t size, uint64_t alignment)
{
    alignment = UINT64_C(1) << (64 - __builtin_clzll(alignment - 1));
    uint32_t id = place(state, size + alignment - UNIT);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    uint64_t at = round_up(state->objects[id].at, alignment);
    if (at != state->objects[id].at)
        musl_begin(state, slot_of(state, id), at);
    enter(state, id, at, size);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct musl *state = state_of(heap);
    const struct request *request = &heap->request;
    state->visited = 0;
    uint32_t id = request->alignment > UNIT ? place_aligned(state, size, request->alignment)
                                            : place(state, size);
    if (UNLIKELY(id == NO_BLOCK || heap->failure != NULL))
        return NO_BLOCK;
    if (request->is_zeroed)
        zero_object(state, id);
    write_object(state, id);
    count_search(heap, state->visited);
    return id;
}

/* Offers the whole pages of a freed slot to the system, which takes them when it is short of
 * memory. */
static void offer(struct musl *state, struct musl_slot slot)
{
    const struct musl_group *group = group_of(state, slot.group);
    uint64_t start = slot_start(group, slot.slot), end = slot_end(state, slot);
    if (!state->madv_free || group->count == 1 || ((start - 1) ^ end) < 2 * MUSL_PAGE)
        return;
    uint64_t first = round_up(start, MUSL_PAGE), last = end - end % MUSL_PAGE;
    if (first < last) {
        state->calls.madvises++;
        state->calls.madvised += last - first;
    }
}

static void release(struct heap *heap, uint32_t id)
{
    struct musl *state = state_of(heap);
    const struct musl_slot slot = slot_of(state, id);
    struct musl_group *group = group_of(state, slot.group);
    uint32_t bit = UINT32_C(1) << slot.slot;
    musl_write_header(state, slot, state->objects[id].at, UINT8_MAX, 0);
    offer(state, slot);
    heap_mark(heap, id, STATE_FREE);
    if (group->freed != 0 && (group->freed | group->avail | bit) != all_slots(group))
        group->freed |= bit;
    else
        musl_free_slot(state, slot);
}

/* Keeps an object in place if its slot is large enough and its class is at most one below the
 * slot's class. Returns whether it stays in place. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct musl *state = state_of(heap);
    const struct musl_slot slot = slot_of(state, id);
    uint64_t at = state->objects[id].at;
    if (size > slot_end(state, slot) - at || size >= MAPPED_FROM ||
        musl_class_of(size + state->tag) + 1 < group_of(state, slot.group)->class)
        return false;
    enter(state, id, at, size);
    return true;
}

/* Resizes an object's mapping to the pages that the object needs. */
static uint32_t resize_mapping(struct musl *state, uint32_t id, uint64_t size)
{
    struct musl_slot slot = slot_of(state, id);
    const struct musl_mapping *mapping = &group_of(state, slot.group)->mapping;
    uint64_t in_mapping = state->objects[id].at - mapping->base;
    uint64_t needed = round_up(size + in_mapping + state->tag, MUSL_PAGE);
    if (needed != mapping->size)
        id = musl_remap(state, slot.group, needed);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (state->tag > 0)
        heap_touch(&state->heap, slot_end(state, slot), 1);
    enter(state, id, mapping->base + in_mapping, size);
    return id;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct musl *state = state_of(heap);
    const struct musl_slot slot = slot_of(state, id);
    uint32_t other = id;
    if (resize(heap, id, size)) {
        write_object(state, id);
        return id;
    }
    if (group_of(state, slot.group)->class == ALONE && size >= MAPPED_FROM) {
        other = resize_mapping(state, id, size);
    } else {
        state->visited = 0;
        other = place(state, size);
        if (other == NO_BLOCK || heap->failure != NULL)
            return NO_BLOCK;
        musl_copy(state, slot, state->objects[id], slot_of(state, other), state->objects[other]);
        release(heap, id);
        count_search(heap, state->visited);
    }
    if (other != NO_BLOCK)
        write_object(state, other);
    return other;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && reserve_objects(state_of(heap));
}

DEFINE_ONLY_LAYER(musl, true, allocate, release, reserve, .resize = resize,
                  .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct musl *state = memory;
    state->tag = state->heap.setting.mechanism ? 4 : 0;
    state->head = state->heap.setting.mechanism ? UNIT : 0;
    state->groups.unused = NO_GROUP;
    for (uint32_t class = 0; class < CLASSES; class++)
        state->rings[class] = NO_GROUP;
    return true;
}

static void release_all(void *memory)
{
    struct musl *state = memory;
    musl_groups_release(state);
    table_release(state->objects);
}

static const char *check(const void *memory)
{
    const struct musl *state = memory;
    const char *wrong = heap_check(&state->heap);
    uint64_t usage[CLASSES] = {0};
    uint64_t free = 0;
    for (uint32_t number = 0; number < state->groups.used; number++) {
        const struct musl_group *group = group_of(state, number);
        if ((group->avail & group->freed) != 0 || (group->avail & ~active_slots(group)) != 0)
            return "a slot is marked available although it is freed or inactive";
        free += (uint64_t)__builtin_popcount(group->avail | group->freed);
        if (group->class < CLASSES)
            usage[group->class] += group->count;
    }
    for (uint32_t class = 0; class < CLASSES && wrong == NULL; class++)
        if (usage[class] != state->usage[class])
            wrong = "the slots of a class are miscounted";
    if (wrong == NULL && free != state->heap.counters.free_blocks)
        wrong = "the free slots are miscounted";
    return wrong;
}

static const char *const figure_names[] = {"meta",    "mmaps",    "munmaps",
                                           "mremaps", "madvises", "madvised"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct musl_calls *calls = &((const struct musl *)heap)->calls;
    figures[0] = heap->brk;
    figures[1] = calls->mmaps;
    figures[2] = calls->munmaps;
    figures[3] = calls->mremaps;
    figures[4] = calls->madvises;
    figures[5] = calls->madvised;
}

static void locate(const struct heap *heap, uint32_t id, struct location *location)
{
    const struct musl *state = (const struct musl *)heap;
    const struct musl_group *group = group_of(state, slot_of(state, id).group);
    const struct musl_mapping *mapping = &group_of(state, group->root)->mapping;
    location->region = mapping->number;
    location->offset = (int64_t)(state->objects[id].at - mapping->base);
}

static const struct parameter parameters[] = {
    PARAMETER(struct musl, bounce, 0, 1),
    PARAMETER(struct musl, madv_free, 0, 1),
};

const struct family musl = {
    .name = "musl",
    FAMILY_OF(struct musl),
    FIGURES(figure_names),
    .columns = COLUMN_ALIGNMENT,
    .needs_columns_only = true,
    .writes_itself = true,
    .writes_objects = true,
    .blocks_an_event = BLOCKS_AN_EVENT,
    .report = report,
    .locate = locate,
};
