/* Scudo's class 0: blocks that record groups and batches, including the batches of class 0. */
#include "families/scudo/parts.h"
#include "space/residence.h"

static void touch(struct scudo *state, uint32_t record)
{
    const struct region *region = &state->regions[0];
    heap_touch(&state->heap, region->start + (record - 1) * region->block, 1);
}

/* Starts a batch in a record. The record is the batch's first block. */
static bool begin_batch(struct scudo *state, uint32_t record)
{
    struct records *records = &state->records;
    uint32_t batch = scudo_new_batch(state);
    if (batch == NOTHING)
        return false;
    state->batches[batch].older = records->newest;
    state->batches[batch].blocks[0] = record;
    records->newest = batch;
    records->newest_count = 1;
    touch(state, record);
    return true;
}

static void append(struct scudo *state, uint32_t record)
{
    struct records *records = &state->records;
    state->batches[records->newest].blocks[records->newest_count++] = record;
}

void scudo_push_records(struct scudo *state, const uint32_t *pushed, uint32_t count)
{
    struct records *records = &state->records;
    if (records->group == NOTHING) {
        records->group = pushed[--count];
        touch(state, records->group);
    }
    if (count > 0 && records->newest == NOTHING) {
        if (!begin_batch(state, pushed[--count]))
            return;
        append(state, records->group);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (records->newest_count < state->regions[0].refill)
            append(state, pushed[i]);
        else if (!begin_batch(state, pushed[i]))
            return;
    }
}

/* Cuts new records and pushes them. */
static void make(struct scudo *state)
{
    struct region *region = &state->regions[0];
    uint32_t made[8 * MAX_CACHED];
    uint32_t first = (uint32_t)(region->made / region->block) + 1;
    uint32_t id = scudo_make(state, 0);
    if (id == NO_BLOCK)
        return;
    heap_mark(&state->heap, id, STATE_TABLE);
    uint32_t count = (uint32_t)(state->heap.blocks[id].size / region->block);
    for (uint32_t i = 0; i < count; i++)
        made[i] = first + i;
    scudo_push_records(state, made, count);
}

static uint32_t pop_records(struct scudo *state, uint32_t *popped)
{
    struct records *records = &state->records;
    if (records->group == NOTHING)
        make(state);
    if (records->group == NOTHING)
        return 0;
    uint32_t batch = records->newest;
    uint32_t count = records->newest_count;
    if (batch == NOTHING) {
        popped[0] = records->group;
        count = 1;
    } else {
        for (uint32_t i = 0; i < count; i++)
            popped[i] = state->batches[batch].blocks[i];
        records->newest = state->batches[batch].older;
        records->newest_count = state->regions[0].refill;
        scudo_drop_batch(state, batch);
    }
    if (records->newest == NOTHING)
        records->group = NOTHING;
    return count;
}

uint32_t scudo_take_record(struct scudo *state, struct local *local)
{
    if (!state->heap.setting.mechanism)
        return NOTHING;
    struct stack *stack = &local->stacks[0];
    if (stack->count == 0)
        stack->count = pop_records(state, stack->blocks);
    if (stack->count == 0) {
        if (state->heap.failure == NULL)
            heap_exhaust(&state->heap);
        return NOTHING;
    }
    uint32_t record = stack->blocks[--stack->count];
    touch(state, record);
    return record;
}

void scudo_drop_record(struct scudo *state, struct local *local, uint32_t record)
{
    if (record != NOTHING)
        scudo_push_local(state, local, 0, record);
}
