#include "families/jemalloc/collect.h"

enum { SMALL_COLLECTED = 4 }; /* classes that a collection of 5.3.1 flushes; and a large one */

#define COLLECTION_INTERVAL UINT64_C(10000000) /* minimum nanoseconds between two collections of
                                                * 5.3.1 */

/* Addresses as Linux would have given them, from `start` to before `end`. */
struct span {
    uint64_t start;
    uint64_t end;
};

/* Where an object or an extent lies, as Linux would have placed it. */
ALWAYS_INLINE uint64_t place_of(struct jemalloc *state, uint32_t extent, uint64_t address)
{
    return address + state->mappings[extent_at(state, extent)->mapping].shift;
}

static bool is_far(struct jemalloc *state, uint32_t block, const struct span *span)
{
    const struct block *object = &state->heap.blocks[block];
    uint64_t place = place_of(state, object->family_data, object->address);
    return place < span->start || place >= span->end;
}

static uint32_t count_far(struct jemalloc *state, const struct stack *stack,
                                 const struct span *span)
{
    uint32_t far = 0;
    for (uint32_t i = 0; i < stack->count; i++)
        far += is_far(state, stack->objects[i], span);
    return far;
}

/* Swaps the near objects to the top of a stack, in their order, each for the topmost far one. */
static void swap_far_down(struct jemalloc *state, struct stack *stack,
                                 const struct span *span)
{
    uint32_t *objects = stack->objects;
    uint32_t far = stack->count; /* place of the topmost far one + 1; `count`: as yet unknown */
    bool found = false;
    for (uint32_t i = stack->count; i > 0; i--) {
        uint32_t block = objects[i - 1];
        if (is_far(state, block, span)) {
            far = found ? far : i;
            found = true;
        } else if (found) {
            objects[i - 1] = objects[far - 1];
            objects[far - 1] = block;
            far--;
        }
    }
}

/* Moves objects far from the slab in use to the bottom of a stack. Returns the number to flush:
 * `count`, or all far objects. */
static uint32_t gather_far(struct jemalloc *state, const struct thread *thread,
                                  uint32_t class, struct stack *stack, uint32_t count)
{
    struct bin *bin = &thread->arena->bins[class];
    uint32_t slab = bin->current;
    if (slab == NO_EXTENT && bin->nonfull.root != NO_EXTENT)
        slab = jemalloc_pairing_min(state->extents.at, &bin->nonfull);
    if (slab == NO_EXTENT)
        return count;
    uint64_t start = place_of(state, slab, extent_at(state, slab)->address);
    struct span span = {.start = start - HUGE_PAGE, .end = start + HUGE_PAGE};
    uint32_t far = count_far(state, stack, &span);
    if (far < count) {
        span = (struct span){.start = start, .end = start + extent_at(state, slab)->size};
        far = count_far(state, stack, &span);
    }
    if (far > 0 && far < stack->count)
        swap_far_down(state, stack, &span);
    return far > count ? far : count;
}

/* Lets fills take half as much if a class was not all used; twice as much if it was refilled. */
static void adapt_fill(struct stack *stack)
{
    if (stack->low > 0) {
        stack->burst = 0;
        if (stack->capacity >> (stack->shift + 1) >= 1)
            stack->shift++;
    } else if (stack->refilled) {
        stack->burst = 0;
        stack->refilled = false;
        if (stack->shift > 1)
            stack->shift--;
    }
}

/* Flushes three quarters or more of the unused objects. Returns whether it flushed any. */
static bool visit(struct jemalloc *state, struct thread *thread, uint32_t class)
{
    struct stack *stack = &thread->stacks[class];
    uint32_t count = stack->low - stack->low / 4;
    if (class < SMALL_CLASSES) {
        adapt_fill(stack);
        if (state->by_clock && count < stack->count)
            count = gather_far(state, thread, class, stack, count);
    }
    if (count > 0)
        jemalloc_flush_stack(state, thread, class, stack->count - count);
    stack->low = stack->count;
    return count > 0;
}

/* Visits classes in turn from a cursor on until `most` have flushed, or all are visited. */
static void visit_some(struct jemalloc *state, struct thread *thread, uint32_t *cursor,
                              uint32_t first, uint32_t end, uint32_t most)
{
    uint32_t flushed = 0;
    for (uint32_t i = first; i < end && flushed < most; i++) {
        flushed += visit(state, thread, *cursor);
        *cursor = *cursor + 1 < end ? *cursor + 1 : first;
    }
}

void jemalloc_collect(struct jemalloc *state, struct thread *thread)
{
    if (!thread->has_cache)
        return;
    if (!state->by_clock) {
        visit(state, thread, thread->cursor);
        thread->cursor = (thread->cursor + 1) % state->classes;
        return;
    }
    if (state->now < thread->next_time)
        return;
    thread->next_time = state->now + COLLECTION_INTERVAL;
    uint32_t small = state->classes < SMALL_CLASSES ? state->classes : SMALL_CLASSES;
    visit_some(state, thread, &thread->cursor, 0, small, SMALL_COLLECTED);
    visit_some(state, thread, &thread->large_cursor, SMALL_CLASSES, state->classes, 1);
}
