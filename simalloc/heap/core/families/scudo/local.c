/* Scudo's local caches and their assignment to threads. */
#include <stdlib.h>

#include "families/scudo/parts.h"

/* Returns up to `refill` blocks, the oldest of a stack, to their region. */
static void drain(struct scudo *state, struct local *local, uint32_t number)
{
    struct stack *stack = &local->stacks[number];
    uint32_t drained[MAX_CACHED];
    uint32_t most = state->regions[number].refill;
    uint32_t count = stack->count < most ? stack->count : most;
    for (uint32_t i = 0; i < count; i++)
        drained[i] = stack->blocks[i];
    for (uint32_t i = count; i < stack->count; i++)
        stack->blocks[i - count] = stack->blocks[i];
    stack->count -= count;
    if (number == 0)
        scudo_push_records(state, drained, count);
    else
        scudo_push(state, local, number, drained, count);
}

uint32_t scudo_pop_local(struct scudo *state, struct local *local, uint32_t number)
{
    struct stack *stack = &local->stacks[number];
    if (UNLIKELY(stack->count == 0))
        stack->count = scudo_pop(state, local, number, stack->blocks, state->regions[number].refill);
    return stack->count == 0 ? NO_BLOCK : stack->blocks[--stack->count];
}

bool scudo_push_local(struct scudo *state, struct local *local, uint32_t number, uint32_t id)
{
    struct stack *stack = &local->stacks[number];
    bool is_full = stack->count == 2 * state->regions[number].refill;
    if (UNLIKELY(is_full))
        drain(state, local, number);
    stack->blocks[stack->count++] = id;
    return is_full;
}

static void empty_local(struct scudo *state, struct local *local)
{
    for (uint32_t number = 1; number < state->configuration->classes; number++)
        while (local->stacks[number].count > 0)
            drain(state, local, number);
    while (local->stacks[0].count > 0)
        drain(state, local, 0);
}

/* Returns an empty local cache. Returns NULL, with the heap's failure set, if memory is
 * exhausted. */
static struct local *new_local(struct scudo *state)
{
    struct local *local = state->local_unused;
    if (local != NULL) {
        state->local_unused = local->next_unused;
        return local;
    }
    if (TABLE_SPARE(state->locals, state->local_count, 1, UINT32_MAX, state->local_capacity))
        local = calloc(1, sizeof *local);
    if (local == NULL)
        heap_fail(&state->heap, OUT_OF_MEMORY);
    else
        state->locals[state->local_count++] = local;
    return local;
}

bool scudo_init_locals(struct scudo *state)
{
    for (uint64_t i = 0; i < state->caches || i == 0; i++)
        if (new_local(state) == NULL)
            return false;
    return true;
}

void scudo_release_locals(struct scudo *state)
{
    for (uint32_t i = 0; i < state->local_count; i++) {
        scudo_release_quarantine(&state->locals[i]->quarantine);
        free(state->locals[i]);
    }
    table_release(state->locals);
    thread_table_release(&state->local_of);
}

struct local *scudo_local(struct scudo *state, bool only_frees)
{
    uint32_t thread = state->heap.request.thread;
    struct local *local = thread_table_find(&state->local_of, thread);
    if (LIKELY(local != NULL))
        return local;
    if (state->caches == 0 && only_frees)
        return state->locals[FALLBACK];
    if (!heap_needs(&state->heap, thread_table_add(&state->local_of, thread)))
        return NULL;
    local = state->caches > 0 ? state->locals[state->threads++ % state->caches] : new_local(state);
    thread_table_keep(&state->local_of, thread, local);
    return local;
}

void scudo_end_thread(struct heap *heap)
{
    struct scudo *state = (struct scudo *)heap;
    struct local *local = thread_table_find(&state->local_of, heap->request.thread);
    if (state->caches > 0 || local == NULL)
        return;
    scudo_collect(state, local);
    empty_local(state, local);
    local->next_unused = state->local_unused;
    state->local_unused = local;
    thread_table_keep(&state->local_of, heap->request.thread, NULL);
}

static void empty(struct scudo *state, struct local *local)
{
    scudo_recycle_all(state, local);
    empty_local(state, local);
}

void scudo_empty_reached(struct scudo *state)
{
    struct local *own = thread_table_find(&state->local_of, state->heap.request.thread);
    if (state->caches == 0 && own != NULL)
        empty(state, own);
    for (uint32_t number = 0; number < state->caches || number == FALLBACK; number++)
        empty(state, state->locals[number]);
}
