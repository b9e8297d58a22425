#include "replay.h"

#include <stdlib.h>
#include <string.h>

static bool objects_reserve(struct device_replay *replay, uint32_t slot)
{
    if (slot < replay->slots)
        return true;
    size_t slots = 2 * (size_t)slot + 64;
    struct object *objects = realloc(replay->objects, slots * sizeof *objects);
    if (objects == NULL)
        return false;
    memset(&objects[replay->slots], 0, (slots - replay->slots) * sizeof *objects);
    replay->objects = objects;
    replay->slots = slots;
    return true;
}

static void free_object(struct device_replay *replay, struct object *object)
{
    replay->family->free(replay->allocator, object->block);
    replay->live -= object->size;
    object->block = NO_BLOCK;
}

/* Allocates or reallocates an object; false if it cannot be served. */
static bool request(struct device_replay *replay, const struct events *events, size_t i,
                    struct object *object)
{
    struct allocator *allocator = replay->allocator;
    uint64_t size = events->size[i] > 0 ? (uint64_t)events->size[i] : 1;
    if (object->block != NO_BLOCK && replay->frees_first)
        free_object(replay, object);
    uint32_t block = replay->family->allocate(allocator, size,
                                              events->stream == NULL ? 0 : events->stream[i],
                                              events->pool == NULL ? 0 : events->pool[i]);
    if (block == NO_BLOCK) {
        allocator->statistics.ooms++;
        return false;
    }
    if (object->block != NO_BLOCK)
        free_object(replay, object);
    *object = (struct object){block, events->size[i]};
    replay->live += events->size[i];
    return true;
}

static void use(struct device_replay *replay, const struct events *events, size_t i,
                const struct object *object)
{
    struct block *block = &replay->allocator->blocks.table[object->block];
    uint32_t stream = events->stream == NULL ? 0 : events->stream[i];
    block->shared |= replay->family->knows_streams && stream != block->stream;
}

/* Whether an event can be one of a valid trace. */
static bool is_valid(const struct device_replay *replay, const struct events *events, size_t i,
                     const struct object *object)
{
    bool live = object->block != NO_BLOCK;
    switch (events->op[i]) {
    case OP_MALLOC:
    case OP_CALLOC:
        return !live;
    case OP_EMPTY:
    case OP_THREAD_END:
        return true;
    default:
        return (live || replay->goes_on) && events->op[i] <= OP_USE;
    }
}

/* Carries out an event, unless it is of an object that was never served; false if it cannot be. */
static bool carry_out(struct device_replay *replay, const struct events *events, size_t i,
                      struct object *object)
{
    bool live = object->block != NO_BLOCK;
    switch (events->op[i]) {
    case OP_MALLOC:
    case OP_CALLOC:
        return request(replay, events, i, object);
    case OP_FREE:
        if (live)
            free_object(replay, object);
        return true;
    case OP_REALLOC:
        return !live || request(replay, events, i, object);
    case OP_USE:
        if (live)
            use(replay, events, i, object);
        return true;
    case OP_EMPTY:
        if (replay->family->empty != NULL)
            replay->family->empty(replay->allocator);
        return true;
    default: /* the end of a thread, which no device knows of */
        return true;
    }
}

/* What is wrong with the blocks, or NULL. */
static const char *check(const struct allocator *allocator)
{
    const struct statistics *statistics = &allocator->statistics;
    const struct memory *memory = &allocator->memory;
    if (statistics->reserved.all.now > memory->taken || memory->taken > memory->capacity)
        return "more is reserved than there is";
    if (statistics->allocated.all.now > statistics->active.all.now ||
        statistics->active.all.now > statistics->reserved.all.now)
        return "more is in use than is reserved";
    return NULL;
}

/* Keeps what the bytes were for, if more is reserved than ever. */
static void note_peak(struct statistics *statistics)
{
    if (statistics->reserved.all.now <= statistics->at_peak.reserved)
        return;
    statistics->at_peak.reserved = statistics->reserved.all.now;
    statistics->at_peak.requested = statistics->requested.all.now;
    statistics->at_peak.active = statistics->active.all.now;
    statistics->at_peak.inactive_split = statistics->inactive_split.all.now;
}

static void note(const struct device_replay *replay, const struct states *states, size_t i,
                 const struct object *object)
{
    const struct statistics *statistics = &replay->allocator->statistics;
    uint32_t block = object == NULL ? NO_BLOCK : object->block;
    states->address[i] =
        block == NO_BLOCK ? -1 : (int64_t)replay->allocator->blocks.table[block].address;
    states->live[i] = replay->live;
    states->reserved[i] = (int64_t)statistics->reserved.all.now;
    states->allocated[i] = (int64_t)statistics->allocated.all.now;
    states->free_blocks[i] = (int64_t)statistics->free_blocks;
}

size_t device_replay_events(struct device_replay *replay, const struct events *events,
                            const struct states *states)
{
    struct allocator *allocator = replay->allocator;
    size_t i = 0;
    for (; i < events->count && allocator->failure == NULL; i++) {
        if (replay->first_oom > 0 && !replay->goes_on)
            break;
        if (!blocks_reserve(&allocator->blocks, BLOCKS_AN_EVENT) ||
            !objects_reserve(replay, events->slot[i])) {
            allocator->failure = "memory is exhausted";
            break;
        }
        struct object *object = &replay->objects[events->slot[i]];
        if (!is_valid(replay, events, i, object)) {
            allocator->failure = "the events are not those of a valid trace";
            break;
        }
        uint64_t merged = allocator->blocks.coalescings;
        allocator->memory.event = (int64_t)replay->events;
        bool served = carry_out(replay, events, i, object);
        replay->coalescing_frees +=
            events->op[i] == OP_FREE && allocator->blocks.coalescings > merged;
        replay->events++;
        if (allocator->memory.lost_calls)
            allocator->failure = "memory is exhausted";
        note_peak(&allocator->statistics);
        if (!served && replay->first_oom == 0)
            replay->first_oom = replay->events;
        if (states->address != NULL)
            note(replay, states, i, served && events->op[i] != OP_EMPTY && events->op[i] != OP_THREAD_END ? object : NULL);
        if (replay->checked && allocator->failure == NULL)
            allocator->failure = check(allocator);
    }
    return i;
}
