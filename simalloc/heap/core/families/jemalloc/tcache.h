/* jemalloc's thread cache: stacks that are filled from an arena and flushed. */
#ifndef SIMALLOC_JEMALLOC_TCACHE_H
#define SIMALLOC_JEMALLOC_TCACHE_H

#include "families/jemalloc/arena.h"

/* Fills in how many objects of each class a cache holds, and of how many classes. */
void jemalloc_fill_capacities(struct jemalloc *state);

/* The bytes of the table of all stacks, which has a word in front and one behind. */
uint64_t jemalloc_stacks_size(const struct jemalloc *state);

/* Makes a thread's stacks, whose table lies at an address; false when memory is exhausted. */
bool jemalloc_make_stacks(struct jemalloc *state, struct thread *thread, uint64_t address);

void jemalloc_release_stacks(struct thread *thread);

/* Takes regions for an empty stack; the first taken is on top. False when memory is exhausted. */
bool jemalloc_fill_stack(struct jemalloc *state, struct thread *thread, uint32_t class);

/* Gives the oldest objects of a stack back, arena by arena; then the slabs that are empty. */
void jemalloc_flush_stack(struct jemalloc *state, struct thread *thread, uint32_t class,
                          uint32_t kept);

/* Counts operations past the cache; now and then, gives pages back that are due. */
ALWAYS_INLINE void tick(struct jemalloc *state, struct thread *thread, struct arena *arena,
                        uint64_t ticks)
{
    if (UNLIKELY(jemalloc_count_ticks(thread, ticks)) && !state->background_thread)
        jemalloc_look(state, arena);
}

/* Notes that the pointers of the newest objects are written in the table of a stack. */
ALWAYS_INLINE void write_stack(struct jemalloc *state, const struct stack *stack, uint32_t count)
{
    if (state->heap.setting.mechanism)
        heap_touch(&state->heap, stack->end - UINT64_C(8) * stack->count, UINT64_C(8) * count);
}

/* Takes the newest object out of a stack that has some; it is allocated then. */
ALWAYS_INLINE uint32_t stack_pop(struct heap *heap, struct stack *stack)
{
    uint32_t id = stack->objects[--stack->count];
    struct block *block = &heap->blocks[id];
    if (stack->count < stack->low)
        stack->low = stack->count;
    block->index_slot = STATE_ALLOCATED;
    heap->counters.cached_blocks--;
    heap->counters.allocated += block->size;
    return id;
}

/* Puts an allocated object in a stack that has room. */
ALWAYS_INLINE void stack_push(struct heap *heap, struct stack *stack, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    stack->objects[stack->count++] = id;
    block->index_slot = STATE_CACHED;
    heap->counters.cached_blocks++;
    heap->counters.allocated -= block->size;
}

#endif
