/* Scudo's local caches, and which of them a thread uses. */
#include <stdlib.h>

#include "families/scudo/parts.h"

/* Gives the oldest blocks of a stack to their region. */
static void drain(struct scudo *state, struct local *local, uint32_t number)
{
    struct stack *stack = &local->stacks[number];
    uint32_t drained[MOST_CACHED];
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

void scudo_empty_local(struct scudo *state, struct local *local)
{
    for (uint32_t number = 1; number < state->configuration->classes; number++)
        while (local->stacks[number].count > 0)
            drain(state, local, number);
    while (local->stacks[0].count > 0)
        drain(state, local, 0);
}

/* Returns the number of an empty local cache; false, with the heap's failure set, if there is no
 * memory. */
static bool new_local(struct scudo *state, uint32_t *number)
{
    if (state->local_unused != NO_LOCAL) {
        *number = state->local_unused;
        state->local_unused = state->locals[*number]->next_unused;
        return true;
    }
    if (state->local_count == state->local_capacity) {
        uint32_t capacity = state->local_capacity * 2 + 8;
        struct local **locals = realloc(state->locals, capacity * sizeof *locals);
        if (locals == NULL)
            return false;
        state->locals = locals;
        state->local_capacity = capacity;
    }
    struct local *local = calloc(1, sizeof *local);
    if (local == NULL)
        return false;
    *number = state->local_count;
    state->locals[state->local_count++] = local;
    return true;
}

bool scudo_init_locals(struct scudo *state)
{
    uint32_t number;
    state->local_unused = NO_LOCAL;
    for (uint64_t i = 0; i < state->caches || i == 0; i++)
        if (!new_local(state, &number))
            return false;
    return true;
}

void scudo_release_locals(struct scudo *state)
{
    for (uint32_t i = 0; i < state->local_count; i++) {
        scudo_release_quarantine(&state->locals[i]->quarantine);
        free(state->locals[i]);
    }
    free(state->locals);
    free(state->local_of);
}

/* Makes room for a thread's number; false if there is no memory. */
static bool reserve_thread(struct scudo *state, uint32_t thread)
{
    if (LIKELY(thread < state->thread_capacity))
        return true;
    uint64_t capacity = (uint64_t)thread * 2 + 8;
    uint32_t *local_of = realloc(state->local_of, capacity * sizeof *local_of);
    if (local_of == NULL)
        return false;
    for (uint64_t i = state->thread_capacity; i < capacity; i++)
        local_of[i] = NO_LOCAL;
    state->local_of = local_of;
    state->thread_capacity = (uint32_t)(capacity < UINT32_MAX ? capacity : UINT32_MAX);
    return true;
}

struct local *scudo_local(struct scudo *state, bool only_frees)
{
    uint32_t thread = state->heap.request.thread;
    uint32_t number = NO_LOCAL;
    if (LIKELY(thread < state->thread_capacity))
        number = state->local_of[thread];
    if (LIKELY(number != NO_LOCAL))
        return state->locals[number];
    if (state->caches == 0 && only_frees)
        return state->locals[FALLBACK];
    number = state->caches > 0 ? (uint32_t)(state->threads++ % state->caches) : FALLBACK;
    if (!reserve_thread(state, thread) || (state->caches == 0 && !new_local(state, &number))) {
        heap_fail(&state->heap, OUT_OF_MEMORY);
        return NULL;
    }
    state->local_of[thread] = number;
    return state->locals[number];
}

void scudo_end_thread(struct heap *heap)
{
    struct scudo *state = (struct scudo *)heap;
    uint32_t thread = heap->request.thread;
    if (state->caches > 0 || thread >= state->thread_capacity ||
        state->local_of[thread] == NO_LOCAL)
        return;
    uint32_t number = state->local_of[thread];
    struct local *local = state->locals[number];
    scudo_collect(state, local);
    scudo_empty_local(state, local);
    local->next_unused = state->local_unused;
    state->local_unused = number;
    state->local_of[thread] = NO_LOCAL;
}

static void empty(struct scudo *state, uint32_t number)
{
    scudo_recycle_all(state, state->locals[number]);
    scudo_empty_local(state, state->locals[number]);
}

void scudo_empty_reached(struct scudo *state)
{
    uint32_t thread = state->heap.request.thread;
    if (state->caches == 0 && thread < state->thread_capacity &&
        state->local_of[thread] != NO_LOCAL)
        empty(state, state->local_of[thread]);
    for (uint32_t number = 0; number < state->caches || number == FALLBACK; number++)
        empty(state, number);
}
