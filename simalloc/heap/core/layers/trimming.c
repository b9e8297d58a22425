#include "layers/trimming.h"

#include "layers/define_layer.h"

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    return heap->trimming->base->allocate(heap, size);
}

static void release(struct heap *heap, uint32_t id)
{
    const struct trimming *trimming = heap->trimming;
    trimming->base->release(heap, id);
    uint32_t last = heap_last(heap);
    uint64_t size = heap->blocks[last].size;
    if (!heap_is_free(heap, last) || size < trimming->trim || size < trimming->trim_keep)
        return;
    uint64_t returned = size - trimming->trim_keep;
    returned -= returned % trimming->unit;
    if (returned == 0)
        return;
    trimming->family->take_out(heap, last);
    if (heap_lower(heap, returned)) { /* release() expects an allocated block */
        heap->counters.allocated += heap->blocks[last].size;
        trimming->family->release(heap, last);
    }
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return heap->trimming->base->resize(heap, id, size);
}

static uint32_t reallocate_over(struct heap *heap, uint32_t id, uint64_t size)
{
    return layer_reallocate(heap, heap->trimming->base, id, size);
}

static bool reserve(struct heap *heap)
{
    return heap->trimming->base->reserve(heap);
}

DEFINE_LAYER(trimming, true, allocate, release, reserve, .resize = resize,
             .reallocate = reallocate_over)

const struct layer *trimming_over(struct heap *heap, const struct layer *base,
                                  const struct layer *family)
{
    if (family->take_out == NULL)
        heap_fail(heap, "the break cannot be lowered: the family's layer has no take_out");
    heap->trimming->base = base;
    heap->trimming->family = family;
    return &layer_trimming;
}
