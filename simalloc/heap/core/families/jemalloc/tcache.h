/* jemalloc's thread cache: a stack of objects for each class, filled from an arena and flushed to
 * arenas. */
#ifndef SIMALLOC_JEMALLOC_TCACHE_H
#define SIMALLOC_JEMALLOC_TCACHE_H

#include "families/jemalloc/arena.h"

/* Computes the number of cached classes, and the capacity of each. */
void jemalloc_fill_capacities(struct jemalloc *state);

/* Returns the bytes of the table of all stacks, including a word before and a word after the
 * table. */
uint64_t jemalloc_stacks_size(const struct jemalloc *state);

/* Makes a thread's stacks with their table at `address`. Returns false if memory is exhausted. */
bool jemalloc_make_stacks(struct jemalloc *state, struct thread *thread, uint64_t address);

void jemalloc_release_stacks(struct thread *thread);

/* Fills an empty stack with regions; the first region taken is on top. Returns false if memory or
 * the capacity is exhausted. */
bool jemalloc_fill_stack(struct jemalloc *state, struct thread *thread, uint32_t class);

/* Returns all but the `kept` newest objects of a stack to their arenas, arena by arena. Then frees
 * the slabs that are empty. */
void jemalloc_flush_stack(struct jemalloc *state, struct thread *thread, uint32_t class,
                          uint32_t kept);

/* Counts operations in an arena. When the thread has to read the clock, purges the pages in excess
 * of the decay curve. */
ALWAYS_INLINE void tick(struct jemalloc *state, struct thread *thread, struct arena *arena,
                        uint64_t ticks)
{
    if (UNLIKELY(jemalloc_count_ticks(thread, ticks)) && !state->background_thread)
        jemalloc_look(state, arena);
}

/* Records that the pointers to the `count` newest objects are written in a stack's table. */
ALWAYS_INLINE void write_stack(struct jemalloc *state, const struct stack *stack, uint32_t count)
{
    if (state->heap.setting.mechanism)
        heap_touch(&state->heap, stack->end - UINT64_C(8) * stack->count, UINT64_C(8) * count);
}

/* Removes the newest object from a stack that is not empty, and counts it as allocated. */
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

/* Puts an allocated object on a stack that is not full. */
ALWAYS_INLINE void stack_push(struct heap *heap, struct stack *stack, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    stack->objects[stack->count++] = id;
    block->index_slot = STATE_CACHED;
    heap->counters.cached_blocks++;
    heap->counters.allocated -= block->size;
}

#endif
