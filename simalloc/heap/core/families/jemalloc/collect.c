#include "families/jemalloc/collect.h"

/* number of small classes that a collection of 5.3.1 flushes, besides one large class */
enum { SMALL_COLLECTED = 4 };

#define COLLECTION_INTERVAL UINT64_C(10000000) /* minimum nanoseconds between two collections of
                                                * 5.3.1 */

/* A range of addresses in Linux's placement, from `start` up to but excluding `end`. */
struct span {
    uint64_t start;
    uint64_t end;
};

/* Returns the address that Linux would have assigned to an address in an extent. */
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

/* Moves the near objects of a stack above the far ones. From the top down, swaps each near object
 * with the topmost far object above it. Near objects keep their order. */
static void swap_far_down(struct jemalloc *state, struct stack *stack,
                                 const struct span *span)
{
    uint32_t *objects = stack->objects;
    uint32_t far = stack->count; /* index of the topmost far object plus 1; valid if `found` */
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

/* Moves objects far from the slab in use to the bottom of a stack. Returns the number of objects to
 * flush: the larger of `count` and the number of far objects. */
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

/* Halves the objects of a fill if some objects of the class were not used. Doubles them if the
 * stack was refilled. */
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

/* Flushes at least three quarters of the objects that were not used since the last visit. Returns
 * whether any object was flushed. */
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

/* Visits classes in turn, starting at a cursor, until `most` classes have flushed or all were
 * visited. */
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
