/* Simple segregated storage: one list for each size; blocks are never split or coalesced
 * (policy/families/segregated_storage.md). */
#include "layers/define_layer.h"
#include "parts/size_class.h"
#include "parts/size_list.h"

enum series { SERIES_POWERS, SERIES_POWERS_AND_THREES };

struct segregated_storage {
    struct heap heap; /* an allocated block's `family_data` is its size class */
    struct size_list lists[SIZE_CLASSES];
    uint64_t series; /* enum series */
    bool threes;
    uint64_t growth;
    uint64_t growth_3x;
};

ALWAYS_INLINE uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct segregated_storage *state = (struct segregated_storage *)heap;
    unsigned class = class_of(size, state->threes);
    struct size_list *list = &state->lists[class];
    bool empty = size_list_is_empty(list);
    count_search(heap, !empty);
    if (UNLIKELY(empty)) {
        uint64_t unit = is_three_class(class) ? state->growth_3x : state->growth;
        if (!size_list_refill(heap, list, class_size(class), unit))
            return NO_BLOCK;
    }
    uint32_t id = size_list_take(heap, list, class_size(class));
    heap->blocks[id].family_data = class;
    return id;
}

ALWAYS_INLINE void release(struct heap *heap, uint32_t id)
{
    struct segregated_storage *state = (struct segregated_storage *)heap;
    unsigned class = heap->blocks[id].family_data;
    size_list_give(heap, &state->lists[class], id, class_size(class));
}

static uint64_t largest_free(const struct heap *heap)
{
    const struct segregated_storage *state = (const struct segregated_storage *)heap;
    uint64_t largest = 0;
    for (unsigned class = 0; class < SIZE_CLASSES; class++)
        if (!size_list_is_empty(&state->lists[class]) && class_size(class) > largest)
            largest = class_size(class);
    return largest;
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    const struct segregated_storage *state = (const struct segregated_storage *)heap;
    return class_of(size, state->threes) == heap->blocks[id].family_data;
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    return class_size(class_of(size, ((const struct segregated_storage *)heap)->threes));
}

DEFINE_ONLY_LAYER(segregated_storage, false, allocate, release, heap_reserve, .resize = resize,
                  .rounded = rounded)

static bool init(void *memory)
{
    struct segregated_storage *state = memory;
    state->threes = state->series == SERIES_POWERS_AND_THREES;
    return true;
}

static const char *check(const void *memory)
{
    const struct segregated_storage *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t blocks = 0;
    const char *wrong = heap_check(heap);
    for (unsigned class = 0; class < SIZE_CLASSES && wrong == NULL; class++)
        wrong = size_list_check(heap, &state->lists[class], class_size(class), &blocks);
    if (wrong == NULL && blocks != heap->counters.free_blocks)
        wrong = "the free blocks are miscounted";
    return wrong;
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
    .next_layer = next_layer,
    .check = check,
    .largest_free = largest_free,
};
