/* Simple segregated storage: a list for each size, nothing split or coalesced (docs/policies.md). */
#include "parts/size_class.h"
#include "replay/replay.h"

enum series { SERIES_POWERS, SERIES_POWERS_AND_THREES };

struct size_list {
    uint32_t newest; /* blocks given back, chained by `mark`, the newest first; or NO_BLOCK */
    uint32_t uncut;  /* what is left of the latest refill, STATE_FREE; or NO_BLOCK */
};

struct segregated_storage {
    struct heap heap; /* an allocated block's `mark` is its size class */
    struct size_list lists[SIZE_CLASSES];
    uint64_t series; /* enum series */
    bool threes;
    uint64_t growth;
    uint64_t growth_3x;
};

/* Makes the heap larger by one refill of a class; its free part is not cut before it is used, for
 * a refill may hold more blocks than will ever be asked for. */
static uint32_t refill(struct segregated_storage *state, unsigned class)
{
    struct heap *heap = &state->heap;
    uint64_t unit = is_three_class(class) ? state->growth_3x : state->growth;
    uint64_t size = class_size(class);
    uint32_t id = heap_extend(heap, unit < size ? size : unit);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    uint64_t blocks = heap->blocks[id].size / size;
    if (UNLIKELY(blocks > UINT32_MAX - heap->counters.free_blocks)) {
        heap_fail(heap, "there would be more than 2**32 free blocks");
        return NO_BLOCK;
    }
    if (heap->blocks[id].size > blocks * size)
        heap->blocks[heap_cut_high(heap, id, blocks * size)].home = STATE_WASTE;
    heap->blocks[id].home = STATE_FREE;
    heap->counters.free_blocks += blocks;
    return id;
}

/* The lowest block of what is left of a refill. */
static uint32_t cut(struct segregated_storage *state, unsigned class)
{
    struct size_list *list = &state->lists[class];
    uint32_t id = list->uncut;
    if (state->heap.blocks[id].size > class_size(class))
        return heap_cut_low(&state->heap, id, class_size(class));
    list->uncut = NO_BLOCK;
    return id;
}

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct segregated_storage *state = (struct segregated_storage *)heap;
    unsigned class = class_of(size, state->threes);
    struct size_list *list = &state->lists[class];
    uint32_t id = list->newest;
    count_search(heap, id != NO_BLOCK || list->uncut != NO_BLOCK);
    if (LIKELY(id != NO_BLOCK)) {
        list->newest = heap->blocks[id].mark;
    } else {
        if (list->uncut == NO_BLOCK)
            list->uncut = refill(state, class);
        if (list->uncut == NO_BLOCK)
            return NO_BLOCK;
        id = cut(state, class);
    }
    heap->blocks[id].home = STATE_ALLOCATED;
    heap->blocks[id].mark = class;
    heap->counters.free_blocks--;
    heap->counters.allocated += class_size(class);
    return id;
}

ALWAYS_INLINE void release(struct heap *heap, uint32_t id)
{
    struct segregated_storage *state = (struct segregated_storage *)heap;
    unsigned class = heap->blocks[id].mark;
    heap->blocks[id].home = STATE_FREE;
    heap->blocks[id].mark = state->lists[class].newest;
    state->lists[class].newest = id;
    heap->counters.free_blocks++;
    heap->counters.allocated -= class_size(class);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    const struct segregated_storage *state = (const struct segregated_storage *)heap;
    return class_of(size, state->threes) == heap->blocks[id].mark;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    return class_size(class_of(size, ((const struct segregated_storage *)heap)->threes));
}

DEFINE_LAYER(segregated_storage, false, allocate, release, heap_reserve, .resize = resize,
             .rounded = rounded)

static const struct layer *settle(struct heap *heap)
{
    (void)heap;
    return &layer_segregated_storage;
}

static bool init(void *memory)
{
    struct segregated_storage *state = memory;
    for (unsigned class = 0; class < SIZE_CLASSES; class++)
        state->lists[class] = (struct size_list){NO_BLOCK, NO_BLOCK};
    state->threes = state->series == SERIES_POWERS_AND_THREES;
    return heap_init(&state->heap);
}

static void release_all(void *memory)
{
    heap_release(&((struct segregated_storage *)memory)->heap);
}

static const char *check(const void *memory)
{
    const struct segregated_storage *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t blocks = 0;
    for (unsigned class = 0; class < SIZE_CLASSES; class++) {
        const struct size_list *list = &state->lists[class];
        if (list->uncut != NO_BLOCK)
            blocks += heap->blocks[list->uncut].size / class_size(class);
        for (uint32_t id = list->newest; id != NO_BLOCK; id = heap->blocks[id].mark) {
            if (heap->blocks[id].home != STATE_FREE || heap->blocks[id].size != class_size(class))
                return "a list holds a block that is not free or has another size";
            if (++blocks > heap->counters.free_blocks)
                return "a list has a cycle, or the free blocks are miscounted";
        }
    }
    if (blocks != heap->counters.free_blocks)
        return "the free blocks are miscounted";
    return heap_check(heap);
}

static const char *const series_names[] = {
    [SERIES_POWERS] = "2n", [SERIES_POWERS_AND_THREES] = "2n-3x2n"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct segregated_storage, series, series_names),
    UNIT_PARAMETER(struct segregated_storage, growth),
    UNIT_PARAMETER(struct segregated_storage, growth_3x),
};

const struct family VARIANT(segregated_storage) = {
    .name = "segregated storage",
    .state_size = sizeof(struct segregated_storage),
    PARAMETERS(parameters),
    .blocks_an_event = 4,
    .init = init,
    .release = release_all,
    .settle = settle,
    .check = check,
};
