/* libg++'s malloc, version 2.5 of Doug Lea's malloc (policy/families/gxx.md). */
#include "layers/define_layer.h"
#include "parts/dirty_bins.h"

struct gxx {
    struct heap heap;
    struct dirty_bins bins;
};

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = dirty_bins_allocate(&((struct gxx *)heap)->bins, size, &visited);
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    dirty_bins_free(&((struct gxx *)heap)->bins, id);
}

static uint32_t reallocate_block(struct heap *heap, uint32_t id, uint64_t size)
{
    if (dirty_bins_resize(&((struct gxx *)heap)->bins, id, size))
        return id;
    const struct setting *setting = &heap->setting;
    return layer_move(heap, id, round_up(size + setting->header + setting->footer,
                                         setting->alignment));
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) &&
           links_reserve(&((struct gxx *)heap)->bins.links, heap->capacity);
}

DEFINE_ONLY_LAYER(gxx, false, allocate, release, reserve, .reallocate = reallocate_block)

static bool init(void *memory)
{
    struct gxx *state = memory;
    const struct setting *setting = &state->heap.setting;
    state->bins.minimum = setting->minimum;
    state->bins.ends = setting->mechanism ? 2 * setting->word : 0;
    dirty_bins_init(&state->bins, &state->heap);
    return true;
}

static void release_all(void *memory)
{
    struct gxx *state = memory;
    dirty_bins_release(&state->bins);
}

static uint64_t cached(const void *memory)
{
    return ((const struct gxx *)memory)->bins.returned.count;
}

static const char *check(const void *memory)
{
    const struct gxx *state = memory;
    const char *wrong = heap_check(&state->heap);
    return wrong == NULL ? dirty_bins_check(&state->bins) : wrong;
}

static const struct parameter parameters[] = {
    {"growth", offsetof(struct gxx, bins.growth), 1, UINT64_C(1) << 50, NULL},
    {"preallocate", offsetof(struct gxx, bins.preallocate), 0, 64, NULL},
};

const struct family gxx = {
    .name = "g++",
    FAMILY_OF(struct gxx),
    .blocks_an_event = 72,
    .cached = cached,
};
