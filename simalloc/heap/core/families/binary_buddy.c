/* Binary buddies in one aligned space (policy/families/binary_buddy.md). */
#include "parts/power_buddy.h"

ALWAYS_INLINE void enter(struct buddies *buddies, uint32_t id, enum bin_kind kind)
{
    const struct block *block = &buddies->heap.blocks[id];
    unsigned class = exact_class(block->size);
    while (buddy_merge(buddies, id, class, (block->address & block->size) == 0, kind))
        class++;
    buddy_insert(buddies, id, class, kind);
}

/* Returns whether [address, break) is free. The binary digits of the break determine the blocks of
 * this range, the largest first. */
static bool is_free_to_the_break(const struct heap *heap, uint64_t address)
{
    uint32_t id = heap_last(heap);
    while (heap_is_free(heap, id) && heap->blocks[id].address > address)
        id = heap->blocks[id].previous;
    return heap_is_free(heap, id) && heap->blocks[id].address == address;
}

/* Raises the break, which always remains a multiple of `growth`. */
static bool grow(struct heap *heap, unsigned class)
{
    struct power_buddy *state = (struct power_buddy *)heap;
    uint64_t size = class_size(class);
    uint64_t end = heap->brk + state->growth;
    if (size > state->growth) {
        uint64_t start = heap->brk & ~(size - 1);
        if (start == heap->brk || !is_free_to_the_break(heap, start))
            start = round_up(heap->brk, size);
        end = start + size;
    }
    uint32_t rest = heap_extend(heap, end - heap->brk);
    if (rest == NO_BLOCK)
        return false;
    heap->counters.growths++;
    for (;;) {
        uint64_t address = heap->blocks[rest].address;
        uint64_t largest = UINT64_C(1) << (63 - __builtin_clzll(heap->blocks[rest].size));
        uint64_t aligned = address & -address;
        uint64_t piece = address != 0 && aligned < largest ? aligned : largest;
        bool last = piece == heap->blocks[rest].size;
        uint32_t id = last ? rest : heap_cut_low(heap, rest, piece);
        enter(&state->buddies, id, state->buddies.tables.kind);
        if (last)
            return true;
    }
}

static const char *check_block(const struct block *block, bool above_is_like_it)
{
    if ((block->address & (block->size - 1)) != 0)
        return "a buddy is not aligned to its size";
    if (above_is_like_it && (block->address & block->size) == 0)
        return "two free buddies have not merged";
    return NULL;
}

const struct family binary_buddy = {
    .name = "binary buddy",
    POWER_BUDDY,
};
