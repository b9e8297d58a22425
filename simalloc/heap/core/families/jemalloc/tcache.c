#include "families/jemalloc/tcache.h"

static uint32_t capacity_of_small(const struct jemalloc *state, uint32_t class)
{
    uint64_t min_slots = state->tcache_nslots_small_min + state->tcache_nslots_small_min % 2;
    uint64_t max_slots = state->tcache_nslots_small_max & ~UINT64_C(1);
    int64_t places = (int64_t)state->lg_tcache_nslots_mul;
    uint64_t regions = state->slabs[class] / class_size(class);
    uint64_t slots = places >= 0 ? regions << places : regions >> -places;
    slots += slots % 2;
    if (max_slots < 2)
        max_slots = 2;
    if (slots < min_slots)
        slots = min_slots;
    return (uint32_t)(slots < max_slots ? slots : max_slots);
}

void jemalloc_fill_capacities(struct jemalloc *state)
{
    uint64_t limit = state->version == V5_3_1 ? 32 << 10 : 8 << 20;
    uint64_t largest = state->tcache_max < limit ? state->tcache_max : limit;
    state->classes = class_number(largest) + 1;
    for (uint32_t class = 0; class < state->classes; class++) {
        uint64_t capacity = class < SMALL_CLASSES ? capacity_of_small(state, class)
                                                  : state->tcache_nslots_large;
        capacity = jemalloc_given_by(state->tcache_ncached_max, class_size(class), true, capacity);
        state->capacities[class] = (uint32_t)capacity;
    }
}

uint64_t jemalloc_stacks_size(const struct jemalloc *state)
{
    uint64_t words = 2;
    for (uint32_t class = 0; class < state->classes; class++)
        words += state->capacities[class];
    return 8 * words;
}

bool jemalloc_make_stacks(struct jemalloc *state, struct thread *thread, uint64_t address)
{
    uint32_t *objects = calloc(jemalloc_stacks_size(state) / 8, sizeof *objects);
    if (!heap_needs(&state->heap, objects != NULL))
        return false;
    uint64_t end = address + 8;
    for (uint32_t class = 0; class < state->classes; class++) {
        uint32_t capacity = state->capacities[class];
        end += UINT64_C(8) * capacity;
        thread->stacks[class] = (struct stack){
            .objects = objects, .end = end, .capacity = capacity, .shift = 1};
        objects += capacity;
    }
    thread->large_cursor = SMALL_CLASSES;
    thread->has_cache = true;
    return true;
}

void jemalloc_release_stacks(struct thread *thread)
{
    if (thread->has_cache)
        free(thread->stacks[0].objects);
    thread->has_cache = false;
}

/* Returns the maximum number of objects of a fill, and stores the minimum in `min_count`. */
static uint32_t fill_count(const struct jemalloc *state, struct stack *stack,
                                  uint32_t *min_count)
{
    uint32_t max_count = stack->capacity >> (stack->shift - stack->burst);
    if (max_count == 0)
        max_count = 1;
    *min_count = state->by_clock ? max_count / 2 + 1 : max_count;
    if (state->by_clock && stack->burst + 1 < stack->shift)
        stack->burst++;
    return max_count;
}

bool jemalloc_fill_stack(struct jemalloc *state, struct thread *thread, uint32_t class)
{
    struct stack *stack = &thread->stacks[class];
    struct arena *arena = thread->arena;
    uint32_t min_count;
    uint32_t max_count = fill_count(state, stack, &min_count);
    uint32_t taken = 0;
    while (taken < min_count) {
        if (!jemalloc_find_slab(state, arena, class)) {
            if (taken == 0 || state->heap.failure != NULL)
                return false;
            break; /* a partial fill is enough */
        }
        struct extent *slab = extent_at(state, arena->bins[class].current);
        uint32_t end = taken + slab->free_regions;
        if (end > max_count)
            end = min_count;
        for (; taken < end; taken++) {
            uint32_t block = take_region(slab);
            heap_mark(&state->heap, block, STATE_CACHED);
            stack->objects[taken] = block;
        }
    }
    for (uint32_t i = 0; i < taken / 2; i++) {
        uint32_t block = stack->objects[i];
        stack->objects[i] = stack->objects[taken - 1 - i];
        stack->objects[taken - 1 - i] = block;
    }
    arena->allocated += taken * class_size(class);
    stack->count = taken;
    stack->low = 0;
    stack->refilled = true;
    write_stack(state, stack, taken);
    tick(state, thread, arena, 1);
    return true;
}

/* Removes all but the `kept` newest objects from a stack and stores them in `flushed`, the newest
 * first. Returns their number. */
static uint32_t take_flushed(struct jemalloc *state, struct stack *stack, uint32_t kept)
{
    uint32_t count = stack->count - kept;
    for (uint32_t i = 0; i < count; i++)
        state->flushed[i] = stack->objects[count - 1 - i];
    memmove(stack->objects, stack->objects + count, kept * sizeof *stack->objects);
    stack->count = kept;
    if (kept < stack->low)
        stack->low = kept;
    stack->burst = 0;
    return count;
}

/* Frees the flushed objects of the first object's arena. Moves the remaining objects to the front
 * and returns their number. */
static uint32_t flush_arena(struct jemalloc *state, struct thread *thread, uint32_t count,
                                   bool is_small, uint32_t *emptied)
{
    struct arena *arena = arena_of(state, state->flushed[0]);
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = state->flushed[i];
        if (extent_of(state, block)->arena != arena->number) {
            state->flushed[left++] = block;
        } else if (!is_small) {
            jemalloc_free_large(state, arena, block);
        } else {
            uint32_t slab = jemalloc_put_back(state, arena, block);
            if (slab != NO_EXTENT)
                state->emptied[(*emptied)++] = slab;
        }
    }
    tick(state, thread, arena, count - left);
    return left;
}

void jemalloc_flush_stack(struct jemalloc *state, struct thread *thread, uint32_t class,
                          uint32_t kept)
{
    uint32_t count = take_flushed(state, &thread->stacks[class], kept);
    uint32_t emptied = 0;
    while (count > 0)
        count = flush_arena(state, thread, count, class < SMALL_CLASSES, &emptied);
    for (uint32_t i = 0; i < emptied; i++) {
        uint32_t slab = state->emptied[i];
        jemalloc_free_extent(state, state->arenas[extent_at(state, slab)->arena], slab);
    }
}
