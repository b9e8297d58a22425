/* Scudo, the hardened allocator of LLVM and Android (policy/families/scudo.md). */
#include <stdlib.h>

#include "families/scudo/parts.h"
#include "layers/define_layer.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    HEADER_USED = 8, /* bytes of the header that are written */
    MARKER = 8,      /* bytes at the start of an aligned block that locate its header */
    /* a large block's header stores the number of unused bytes at its end, modulo this */
    LARGEST_UNUSED = 1 << 20
};

/* the system's clock at the start, in nanoseconds */
static const uint64_t uptime = UINT64_C(1000000000000);

static uint64_t now(const struct scudo *state)
{
    const struct request *request = &state->heap.request;
    return uptime + request->time + state->tick * (request->event + 1);
}

void scudo_give_back(struct scudo *state, uint64_t address, uint64_t size)
{
    heap_discard(&state->heap, address, size);
    state->madvise_calls++;
    state->madvise_bytes += size;
}

/* Returns the address of the program's bytes in a block. */
static uint64_t position_of(const struct scudo *state, uint32_t id)
{
    return state->heap.blocks[id].address + payload_of(state);
}

/* Returns the end of the memory that a block can use. */
static uint64_t end_of(const struct scudo *state, uint32_t id)
{
    const struct block *block = &state->heap.blocks[id];
    return is_large(state, id) ? mapping_of(state, id)->end : block->address + block->size;
}

/* Returns the bytes that a small block for a request needs. A result above the largest class
 * requires a large block. */
static uint64_t needed_for(const struct scudo *state, uint64_t size, uint64_t alignment)
{
    return round_up(size, GRAIN) + payload_of(state) + alignment - GRAIN;
}

/* Returns the class of the smallest blocks of at least `needed` bytes, or the number of classes if
 * no class suffices. */
static uint32_t class_for(const struct scudo *state, uint64_t needed)
{
    const struct configuration *configuration = state->configuration;
    if (needed > configuration->sizes[configuration->classes - 1])
        return configuration->classes;
    return state->class_of[needed / GRAIN];
}

/* Turns the memory in front of an aligned block into waste, and writes the block's header. */
static uint32_t use(struct scudo *state, uint32_t id, uint64_t alignment)
{
    struct heap *heap = &state->heap;
    const uint64_t payload = payload_of(state);
    uint64_t address = heap->blocks[id].address;
    uint64_t in_front = round_up(address + payload, alignment) - payload - address;
    if (in_front > 0) {
        heap_mark(heap, id, STATE_WASTE);
        id = heap_cut_off(heap, id, in_front);
        heap_touch(heap, address, payload > 0 ? MARKER : 0);
    }
    heap_mark(heap, id, STATE_ALLOCATED);
    heap_touch(heap, address + in_front, payload > 0 ? HEADER_USED : 0);
    return id;
}

/* Stores the class and the requested size of a small block. malloc(0) requests 0 bytes. */
static void note_asked(struct scudo *state, uint32_t id, uint32_t number, uint64_t size)
{
    uint32_t asked = state->heap.request.size == 0 ? 0 : (uint32_t)size;
    state->heap.blocks[id].family_data = number << SIZE_BITS | asked;
}

/* Allocates a block of the smallest class that fits, or of a larger class if its region is full.
 * Returns NO_BLOCK if all these regions are full. */
static uint32_t allocate_small(struct scudo *state, struct local *local, uint64_t size,
                               uint64_t alignment)
{
    uint32_t number = class_for(state, needed_for(state, size, alignment));
    for (; number < state->configuration->classes; number++) {
        uint32_t id = scudo_pop_local(state, local, number);
        if (state->heap.failure != NULL)
            return NO_BLOCK;
        if (LIKELY(id != NO_BLOCK)) {
            id = use(state, id, alignment);
            note_asked(state, id, number, size);
            return id;
        }
    }
    return NO_BLOCK;
}

/* Writes zeros to memory that may have been used before. */
static void zero(struct scudo *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint64_t start = position_of(state, id);
    uint64_t end = end_of(state, id);
    if (!is_large(state, id))
        start = end - state->regions[class_of_block(state, id)].block;
    else if (mapping_of(state, id)->time == 0)
        return;
    heap_touch(heap, start, end - start);
}

/* Returns the alignment of the request, or the minimum alignment. */
static uint64_t alignment_of(const struct heap *heap)
{
    uint64_t alignment = GRAIN;
    while (alignment < heap->request.alignment)
        alignment *= 2;
    return alignment;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct scudo *state = (struct scudo *)heap;
    uint64_t alignment = alignment_of(heap);
    struct local *local = scudo_local(state, false);
    count_search(heap, 0);
    if (UNLIKELY(local == NULL))
        return NO_BLOCK;
    uint32_t id = allocate_small(state, local, size, alignment);
    if (UNLIKELY(id == NO_BLOCK && heap->failure == NULL))
        id = scudo_allocate_large(state, size, alignment);
    if (UNLIKELY(id == NO_BLOCK || heap->failure != NULL))
        return NO_BLOCK;
    if (heap->request.is_zeroed)
        zero(state, id);
    return id;
}

/* Joins an aligned block with the memory in front of it into one cached block. */
static void join(struct scudo *state, uint32_t id, uint32_t number)
{
    struct heap *heap = &state->heap;
    heap_mark(heap, id, STATE_CACHED);
    if (UNLIKELY(heap->blocks[id].size < state->regions[number].block))
        heap_join_previous(heap, id);
}

static void release(struct heap *heap, uint32_t id)
{
    struct scudo *state = (struct scudo *)heap;
    struct local *local = scudo_local(state, true);
    if (UNLIKELY(local == NULL))
        return;
    if (UNLIKELY(is_large(state, id))) {
        scudo_free_large(state, id, now(state));
        return;
    }
    uint32_t number = class_of_block(state, id);
    join(state, id, number);
    if (UNLIKELY(scudo_is_quarantined(state, id)))
        scudo_quarantine(state, local, id);
    else if (UNLIKELY(scudo_push_local(state, local, number, id)))
        scudo_release(state, number, RELEASE_NORMAL, now(state));
}

/* Returns the size of a block as computed from its header. */
static uint64_t size_read(const struct scudo *state, uint32_t id)
{
    if (!is_large(state, id))
        return size_asked(state, id);
    const struct mapping *mapping = mapping_of(state, id);
    uint64_t room = mapping->end - position_of(state, id);
    return room - (room - mapping->asked) % LARGEST_UNUSED;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct scudo *state = (struct scudo *)heap;
    uint64_t old = size_read(state, id);
    if (size > end_of(state, id) - position_of(state, id) || (old > size && old - size >= PAGE))
        return false;
    if (is_large(state, id))
        mapping_of(state, id)->asked = size;
    else
        note_asked(state, id, class_of_block(state, id), size);
    return true;
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    struct scudo *state = (struct scudo *)heap;
    if (scudo_local(state, false) == NULL)
        return NO_BLOCK;
    if (resize(heap, id, size))
        return id;
    uint64_t old = is_large(state, id) ? mapping_of(state, id)->asked : size_asked(state, id);
    uint32_t other = heap->front->allocate(heap, size);
    if (other == NO_BLOCK)
        return NO_BLOCK;
    heap_touch(heap, position_of(state, other), old < size ? old : size);
    heap->front->release(heap, id);
    return other;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    const struct scudo *state = (const struct scudo *)heap;
    uint64_t needed = needed_for(state, size, GRAIN);
    uint32_t number = class_for(state, needed);
    return number < state->configuration->classes ? state->regions[number].block : needed;
}

DEFINE_ONLY_LAYER(scudo, true, allocate, release, heap_reserve, .resize = resize,
                  .reallocate = reallocate_block, .rounded = rounded)

/* Purges pages immediately. With purge=all, also empties the quarantine and the caches. */
static void give_back(struct heap *heap)
{
    struct scudo *state = (struct scudo *)heap;
    if (state->purge == PURGE_ALL)
        scudo_empty_reached(state);
    for (uint32_t number = 1; number < state->configuration->classes; number++)
        scudo_release(state, number, state->purge == PURGE_ALL ? RELEASE_ALL : RELEASE_FORCED,
                      now(state));
    scudo_clear_cached(state);
}

static bool init_classes(struct scudo *state)
{
    const struct configuration *configuration = state->configuration;
    uint32_t most = configuration->sizes[configuration->classes - 1];
    state->class_of = malloc(most / GRAIN + 1);
    if (state->class_of == NULL)
        return false;
    uint8_t number = 1;
    for (uint32_t size = 0; size <= most; size += GRAIN) {
        if (size > configuration->sizes[number])
            number++;
        state->class_of[size / GRAIN] = number;
    }
    return true;
}

static bool init(void *memory)
{
    struct scudo *state = memory;
    state->configuration = &scudo_configurations[state->config];
    scudo_draw_regions(state);
    return init_classes(state) && scudo_init_locals(state);
}

static void release_all(void *memory)
{
    struct scudo *state = memory;
    for (uint32_t number = 0; number < MAX_CLASSES; number++)
        table_release(state->regions[number].groups);
    free(state->class_of);
    table_release(state->bits);
    scudo_release_locals(state);
    scudo_release_quarantine(&state->quarantine);
    table_release(state->batches);
    table_release(state->secondary.mappings);
}

static uint64_t cached(const void *memory)
{
    const struct scudo *state = memory;
    uint64_t blocks = scudo_quarantined(&state->quarantine);
    for (uint32_t i = 0; i < state->local_count; i++) {
        blocks += scudo_quarantined(&state->locals[i]->quarantine);
        for (uint32_t number = 1; number < MAX_CLASSES; number++)
            blocks += state->locals[i]->stacks[number].count;
    }
    for (uint32_t slot = 0; slot < MAX_MAPPINGS_CACHED; slot++)
        blocks += state->secondary.cached[slot] != NOTHING;
    return blocks;
}

/* Blocks of class 0 are in no group, because they are their own records. */
static const char *check_region(const struct scudo *state, const struct region *region,
                                bool is_of_records)
{
    const struct block *tail = &state->heap.blocks[region->tail];
    uint64_t free = 0;
    for (uint32_t number = 0; number < region->group_capacity; number++)
        free += region->groups[number].count;
    if (free != region->count && !is_of_records)
        return "the free blocks of a region are miscounted";
    if (region->mapped - region->made != (region->tail == NO_BLOCK ? 0 : tail->size))
        return "the unused part of a region is not exactly one block";
    return NULL;
}

static const char *check(const void *memory)
{
    const struct scudo *state = memory;
    uint64_t blocks = 0;
    for (uint32_t number = 0; number < state->configuration->classes; number++) {
        const struct region *region = &state->regions[number];
        const char *wrong = check_region(state, region, number == 0);
        if (wrong != NULL)
            return wrong;
        blocks += region->count + (region->tail != NO_BLOCK);
    }
    return blocks == state->heap.counters.free_blocks ? heap_check(&state->heap)
                                                      : "the free blocks are miscounted";
}

static void locate(const struct heap *heap, uint32_t id, struct location *location)
{
    const struct scudo *state = (const struct scudo *)heap;
    bool large = is_large(state, id);
    uint32_t number = class_of_block(state, id);
    uint64_t start = large ? mapping_of(state, id)->base : state->regions[number].start;
    location->region = large;
    location->number = large ? (int64_t)mapping_of(state, id)->ordinal : number;
    location->offset = (int64_t)(position_of(state, id) - start);
}

#define TEN_SLOTS(tens)                                                                          \
    "slot_" #tens "0", "slot_" #tens "1", "slot_" #tens "2", "slot_" #tens "3",                  \
        "slot_" #tens "4", "slot_" #tens "5", "slot_" #tens "6", "slot_" #tens "7",              \
        "slot_" #tens "8", "slot_" #tens "9"

/* The figure of a slot packs the class, the mapped pages and the resident pages, COUNT_BITS each.
 */
static const char *const figure_names[] = {
    "mapped_primary", "mapped_secondary", "mappings_secondary",
    "resident_primary", "resident_secondary", "madvise_calls", "madvise_bytes",
    TEN_SLOTS(0), TEN_SLOTS(1), TEN_SLOTS(2), TEN_SLOTS(3), TEN_SLOTS(4),
};
enum { FIRST_SLOT = 7, COUNT_BITS = 21 };

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct scudo *state = (const struct scudo *)heap;
    uint64_t mapped = 0;
    uint64_t resident = 0;
    for (size_t i = FIRST_SLOT; i < sizeof figure_names / sizeof *figure_names; i++)
        figures[i] = 0;
    for (uint32_t number = 0; number < state->configuration->classes; number++) {
        const struct region *region = &state->regions[number];
        uint64_t pages = heap_resident_in(heap, region->start, region->mapped) / PAGE;
        if (region->mapped > 0)
            figures[FIRST_SLOT + region->slot] =
                ((uint64_t)number << COUNT_BITS | region->mapped / PAGE) << COUNT_BITS | pages;
        mapped += region->mapped;
        resident += pages;
    }
    figures[0] = mapped;
    figures[1] = state->secondary.mapped;
    figures[2] = state->secondary.live;
    figures[3] = resident;
    figures[4] = heap_resident(heap) / PAGE - resident;
    figures[5] = state->madvise_calls;
    figures[6] = state->madvise_bytes;
}

static const char *const config_names[] = {
    [CONFIG_DEFAULT] = "default",
    [CONFIG_ANDROID] = "android",
};
static const char *const purge_names[] = {[PURGE_FORCED] = "purge", [PURGE_ALL] = "all"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct scudo, config, config_names),
    PARAMETER(struct scudo, seed, 0, UINT32_MAX),
    CHOICE_PARAMETER(struct scudo, purge, purge_names),
    SIZE_PARAMETER(struct scudo, tick),
    SIZE_PARAMETER(struct scudo, primary_interval),
    SIZE_PARAMETER(struct scudo, secondary_interval),
    PARAMETER(struct scudo, cache_count_max, 0, MAX_MAPPINGS_CACHED),
    SIZE_PARAMETER(struct scudo, largest_cached),
    PARAMETER(struct scudo, caches, 0, 8),
    SIZE_PARAMETER(struct scudo, quarantine_size_kb),
    SIZE_PARAMETER(struct scudo, thread_local_quarantine_size_kb),
    SIZE_PARAMETER(struct scudo, quarantine_max_chunk_size),
};

const struct family scudo = {
    .name = "scudo",
    FAMILY_OF(struct scudo),
    .blocks_an_event = 2,
    .columns = COLUMN_ALIGNMENT | COLUMN_THREAD | COLUMN_TIME,
    .writes_itself = true,
    .cached = cached,
    .end_thread = scudo_end_thread,
    .give_back = give_back,
    FIGURES(figure_names),
    .report = report,
    .locate = locate,
};
