/* Scudo's regions: the free blocks of each class, in groups and batches. */
#include "families/scudo/parts.h"

enum { GROWTH = 256 << 10, FIRST_PAGES = 16, SLOT_ALIGNMENT = 2 << 20 };

void scudo_shuffle(uint32_t *random, uint32_t *items, uint32_t count)
{
    for (uint32_t place = count - 1; place > 0 && count > 0; place--) {
        uint32_t other = random_next(random) % (place + 1);
        uint32_t item = items[place];
        items[place] = items[other];
        items[other] = item;
    }
}

void scudo_draw_regions(struct scudo *state)
{
    const struct configuration *configuration = state->configuration;
    uint32_t seed = (uint32_t)state->seed;
    uint32_t slots[MAX_CLASSES];
    uint32_t randoms[MAX_CLASSES];
    for (uint32_t slot = 0; slot < configuration->classes; slot++) {
        slots[slot] = slot;
        randoms[slot] = random_next(&seed);
    }
    scudo_shuffle(&seed, slots, configuration->classes);
    for (uint32_t number = 0; number < configuration->classes; number++) {
        uint32_t slot = slots[number];
        uint32_t size = configuration->sizes[number];
        uint32_t most = configuration->cached_bytes / size;
        struct region *region = &state->regions[number];
        region->block = size;
        region->slot = slot;
        region->random = randoms[slot];
        region->first = (random_next(&region->random) % FIRST_PAGES + 1) * (uint64_t)PAGE;
        region->refill = most == 0                            ? 1
                         : most < configuration->max_cached ? most
                                                             : configuration->max_cached;
        /* Scudo uses the slot's number instead of the class's number here. */
        region->release.threshold =
            configuration->sizes[slot] < SMALL_BELOW ? configuration->gain : PAGE;
    }
}

uint32_t scudo_new_batch(struct scudo *state)
{
    uint32_t batch = state->batch_unused;
    if (batch != NOTHING) {
        state->batch_unused = state->batches[batch].older;
        return batch;
    }
    if (!heap_needs(&state->heap, TABLE_SPARE(state->batches, state->batches_used + 1, 1, UINT32_MAX,
                                             state->batch_capacity)))
        return NOTHING;
    return ++state->batches_used;
}

void scudo_drop_batch(struct scudo *state, uint32_t batch)
{
    state->batches[batch].older = state->batch_unused;
    state->batch_unused = batch;
}

/* Reserves entries for the groups of `mapped` bytes of a region. */
static bool reserve_groups(struct scudo *state, struct region *region, uint64_t mapped)
{
    uint32_t last = (uint32_t)(mapped >> state->configuration->group_bits);
    return heap_needs(&state->heap, TABLE_COVER(region->groups, region->group_capacity, last));
}

/* Reserves the addresses of a region. All of them are unmapped. */
static bool place_region(struct scudo *state, struct region *region)
{
    struct heap *heap = &state->heap;
    uint32_t slot = heap_reserve_segment(heap, state->configuration->region, SLOT_ALIGNMENT);
    if (slot == NO_BLOCK)
        return false;
    heap->counters.system_calls += 2; /* one call maps, the other makes the hole */
    region->hole = heap_cut_off(heap, slot, region->first);
    region->start = heap->blocks[region->hole].address;
    return true;
}

/* Maps `size` more bytes of a region. Returns false if the region is full, or if memory or the
 * capacity is exhausted. */
static bool grow(struct scudo *state, struct region *region, uint64_t size)
{
    struct heap *heap = &state->heap;
    region->is_full = region->is_full ||
                      region->first + region->mapped + size > state->configuration->region;
    if (region->is_full || !heap_has_room(heap, size) ||
        !reserve_groups(state, region, region->mapped + size) ||
        (region->mapped == 0 && !place_region(state, region)))
        return false;
    uint32_t grown = region->hole;
    region->hole =
        heap->blocks[grown].size > size ? heap_cut_off(heap, grown, size) : NO_BLOCK;
    heap_map(heap, grown);
    if (region->tail == NO_BLOCK) {
        heap_mark(heap, grown, STATE_FREE);
        region->tail = grown;
    } else {
        heap_join_next(heap, region->tail);
    }
    region->mapped += size;
    heap->counters.growths++;
    return true;
}

uint32_t scudo_make(struct scudo *state, uint32_t number)
{
    struct heap *heap = &state->heap;
    struct region *region = &state->regions[number];
    uint64_t runs = state->configuration->runs;
    uint64_t least = region->refill * region->block;
    if (!heap_reserve_more(heap, runs * region->refill + 6))
        return NO_BLOCK;
    if (region->made + least > region->mapped &&
        !grow(state, region, round_up(region->made + least - region->mapped, GROWTH)))
        return NO_BLOCK;
    uint64_t room = region->mapped - region->made;
    uint64_t size = room / region->block * region->block;
    if (size > runs * least)
        size = runs * least;
    uint32_t made = region->tail;
    region->tail = size < room ? heap_cut_off(heap, made, size) : NO_BLOCK;
    region->made += size;
    return made;
}

static uint32_t group_of(const struct scudo *state, const struct region *region, uint32_t id)
{
    uint64_t offset = state->heap.blocks[id].address - region->start;
    return (uint32_t)(offset >> state->configuration->group_bits);
}

/* Starts a batch, which takes a record. Returns false, with the heap's failure set, if memory is
 * exhausted. */
static bool begin_batch(struct scudo *state, struct local *local, struct group *group)
{
    uint32_t batch = scudo_new_batch(state);
    if (batch == NOTHING)
        return false;
    uint32_t record = scudo_take_record(state, local); /* may move the array of batches */
    state->batches[batch].record = record;
    state->batches[batch].older = group->newest;
    group->newest = batch;
    group->newest_count = 0;
    return true;
}

/* Adds blocks of one group to its newest batch, and starts a new batch whenever the newest is
 * full. */
static void enter(struct scudo *state, struct local *local, struct region *region,
                  const uint32_t *blocks, uint32_t count)
{
    uint32_t number = group_of(state, region, blocks[0]);
    struct group *group = &region->groups[number];
    if (group->count == 0) {
        *group = (struct group){.record = scudo_take_record(state, local)};
        region->has_blocks[number / 64] |= UINT64_C(1) << number % 64;
        group->newest_count = state->configuration->max_cached;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (group->newest_count == state->configuration->max_cached &&
            !begin_batch(state, local, group))
            return;
        state->batches[group->newest].blocks[group->newest_count++] = blocks[i];
    }
    group->count += count;
    region->count += count;
}

/* Adds blocks that are sorted by group. */
static void enter_groups(struct scudo *state, struct local *local, struct region *region,
                         uint32_t *blocks, uint32_t count, bool is_new)
{
    for (uint32_t first = 0, end; first < count; first = end) {
        uint32_t number = group_of(state, region, blocks[first]);
        for (end = first + 1; end < count; end++)
            if (group_of(state, region, blocks[end]) != number)
                break;
        if (is_new)
            scudo_shuffle(&region->random, &blocks[first], end - first);
        enter(state, local, region, &blocks[first], end - first);
    }
}

void scudo_push(struct scudo *state, struct local *local, uint32_t number, const uint32_t *blocks,
                uint32_t count)
{
    struct region *region = &state->regions[number];
    uint32_t sorted[MAX_CACHED];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = group_of(state, region, blocks[i]);
        uint32_t place = i;
        for (; place > 0 && group_of(state, region, sorted[place - 1]) > group; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = blocks[i];
        heap_mark(&state->heap, blocks[i], STATE_FREE);
    }
    enter_groups(state, local, region, sorted, count, false);
}

/* Cuts new blocks and adds them to their groups. */
static void make_blocks(struct scudo *state, struct local *local, uint32_t number)
{
    struct region *region = &state->regions[number];
    struct heap *heap = &state->heap;
    uint32_t blocks[8 * MAX_CACHED];
    uint32_t count = 0;
    uint32_t id = scudo_make(state, number);
    while (id != NO_BLOCK) {
        heap->blocks[id].family_data = number << SIZE_BITS;
        blocks[count++] = id;
        id = heap->blocks[id].size > region->block ? heap_cut_off(heap, id, region->block)
                                                   : NO_BLOCK;
    }
    enter_groups(state, local, region, blocks, count, true);
}

/* Returns the lowest group with a free block, or NULL. */
static struct group *lowest_group(struct region *region)
{
    for (uint32_t word = 0; word < MAX_GROUPS / 64; word++)
        if (region->has_blocks[word] != 0)
            return &region->groups[word * 64 +
                                   (uint32_t)__builtin_ctzll(region->has_blocks[word])];
    return NULL;
}

/* Removes the newest batch of a group, which must be empty. If the group has no other batch,
 * removes the group. */
static void end_batch(struct scudo *state, struct local *local, struct region *region,
                      struct group *group)
{
    uint32_t batch = group->newest;
    uint32_t record = state->batches[batch].record;
    group->newest = state->batches[batch].older;
    group->newest_count = state->configuration->max_cached;
    scudo_drop_batch(state, batch);
    scudo_drop_record(state, local, record);
    if (group->newest != NOTHING)
        return;
    uint32_t number = (uint32_t)(group - region->groups);
    region->has_blocks[number / 64] &= ~(UINT64_C(1) << number % 64);
    scudo_drop_record(state, local, group->record);
}

uint32_t scudo_pop(struct scudo *state, struct local *local, uint32_t number, uint32_t *blocks,
                   uint32_t most)
{
    struct region *region = &state->regions[number];
    if (region->count == 0)
        make_blocks(state, local, number);
    struct group *group = lowest_group(region);
    if (group == NULL)
        return 0;
    uint32_t count = group->newest_count < most ? group->newest_count : most;
    group->newest_count -= count;
    group->count -= count;
    region->count -= count;
    const uint32_t *from = &state->batches[group->newest].blocks[group->newest_count];
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = from[i];
        heap_mark(&state->heap, blocks[i], STATE_CACHED);
    }
    if (group->newest_count == 0)
        end_batch(state, local, region, group);
    return count;
}
