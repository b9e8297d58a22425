#include "layers/aligning.h"

#include "space/segment.h"

/* Cuts an allocated block down to its low `size` bytes and frees the remainder as the program
 * would. */
static void give_back_high_end(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t high = heap_cut_high(heap, id, size);
    heap->counters.splits++;
    heap->blocks[high].family_data = heap->blocks[id].family_data;
    heap->front->release(heap, high);
}

static void give_back_low_end(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    heap->blocks[low].family_data = heap->blocks[id].family_data;
    heap->front->release(heap, low);
}

/* Cuts a block that is too large down to `size` bytes, at the first possible multiple of the
 * alignment. */
static void cut_to(struct heap *heap, uint32_t id, uint64_t size, uint64_t alignment)
{
    uint64_t least = heap->setting.min_remainder;
    uint64_t over = heap->blocks[id].address % alignment;
    if (over > 0) {
        uint64_t front = alignment - over;
        if (front < least)
            front += round_up(least - front, alignment);
        give_back_low_end(heap, id, front);
    }
    if (heap->blocks[id].size - size >= least)
        give_back_high_end(heap, id, size);
}

/* Allocates a block that contains a multiple of the alignment with sufficient space, and cuts
 * it. */
static uint32_t allocate_and_cut(struct heap *heap, uint64_t size, uint64_t alignment)
{
    const struct setting *setting = &heap->setting;
    uint64_t unit = setting->remainder_unit;
    uint64_t factor = unit / common_divisor(alignment, unit);
    /* Maximum bytes before the aligned block, in addition to the alignment. */
    uint64_t spare = round_up(setting->min_remainder - 1, unit);
    uint64_t most = MAX_BREAK - spare;
    size = round_up(size, unit);
    if (size < setting->min_remainder)
        size = setting->min_remainder;
    if (alignment > most / factor || size > most - alignment * factor) {
        heap_fail_beyond(heap);
        return NO_BLOCK;
    }
    alignment *= factor;
    heap->segment_alignment = alignment;
    uint32_t id = heap->family->allocate(heap, size + alignment + spare);
    heap->segment_alignment = 0;
    if (id != NO_BLOCK && !segment_is(heap, id))
        cut_to(heap, id, size, alignment);
    return id;
}

uint32_t allocate_aligned(struct heap *heap, uint64_t size)
{
    const struct setting *setting = &heap->setting;
    uint64_t alignment = heap->request.alignment;
    if (setting->guaranteed % alignment == 0)
        return heap->front->allocate(heap, size);
    if (setting->natural_limit > 0 && setting->natural_limit % alignment == 0)
        return heap->family->allocate(heap, size < alignment ? alignment : size);
    if (setting->min_remainder > 0)
        return allocate_and_cut(heap, size, alignment);
    heap_fail(heap, "the requested alignment is larger than the policy supports");
    return NO_BLOCK;
}
