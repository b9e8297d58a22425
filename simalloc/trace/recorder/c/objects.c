#include "objects.h"

#include <stdlib.h>

enum { NESTED_BITS = 16 };

bool objects_init(struct objects *objects)
{
    memset(objects, 0, sizeof *objects);
    return live_table_init(&objects->table);
}

void objects_release(struct objects *objects)
{
    live_table_release(&objects->table);
}

static int64_t key_of_pending(uint32_t stream, size_t nested)
{
    return -1 - (int64_t)((uint64_t)stream << NESTED_BITS | nested);
}

static enum reason enter(struct objects *objects, enum op op, int64_t key, int64_t size,
                         int64_t new_key, int64_t *object)
{
    uint8_t ops = (uint8_t)op;
    struct read_events event = {
        .count = 1, .op = &ops, .key = &key, .size = &size, .new_key = &new_key};
    uint32_t slot;
    enum reason why;
    live_table_enter(&objects->table, &event, object, &slot, &why);
    return why;
}

static void emit(struct columns *out, enum op op, int64_t object, const struct record *record)
{
    size_t at = out->count++;
    out->op[at] = (uint8_t)op;
    out->object[at] = object;
    out->address[at] = (int64_t)record->address;
    out->size[at] = op == OP_FREE ? 0 : (int64_t)record->size;
    out->alignment[at] = op == OP_MALLOC ? (int64_t)record->alignment : 0;
    out->thread[at] = record->thread;
    out->time[at] = (int64_t)record->time;
    out->site[at] = record->site;
}

/* Frees the object with this key. Returns false if no object has this key. */
static bool release(struct objects *objects, int64_t key, const struct record *record,
                    struct columns *out)
{
    int64_t object;
    if (enter(objects, OP_FREE, key, 0, key, &object) != REASON_NONE)
        return false;
    emit(out, OP_FREE, object, record);
    return true;
}

/* Frees an object that still occupies the record's address, because its free was not seen. */
static void vacate(struct objects *objects, const struct record *record, struct columns *out)
{
    objects->frees_unseen += release(objects, (int64_t)record->address, record, out);
}

/* Returns the result for the reason of a failure. Earlier checks have excluded all other
 * reasons. */
static enum objects_answer answer_to(enum reason why)
{
    return why == REASON_MEMORY ? OBJECTS_MEMORY : OBJECTS_DAMAGED;
}

static enum objects_answer allocate(struct objects *objects, const struct record *record,
                                    struct columns *out)
{
    int64_t object, key = (int64_t)record->address;
    vacate(objects, record, out);
    enum op op = record->zeroed ? OP_CALLOC : OP_MALLOC;
    enum reason why = enter(objects, op, key, (int64_t)record->size, key, &object);
    if (why != REASON_NONE)
        return answer_to(why);
    emit(out, op, object, record);
    return OBJECTS_DONE;
}

static bool have_room(struct pendings *pendings)
{
    if (pendings->count < pendings->capacity)
        return true;
    size_t capacity = pendings->capacity ? 2 * pendings->capacity : 1;
    struct pending *grown = realloc(pendings->pending, capacity * sizeof *grown);
    if (grown == NULL)
        return false;
    pendings->pending = grown;
    pendings->capacity = capacity;
    return true;
}

static enum objects_answer begin_realloc(struct objects *objects, const struct record *record,
                                         uint32_t stream, struct pendings *pendings)
{
    int64_t object, key = (int64_t)record->address;
    uint32_t slot;
    if (pendings->count >> NESTED_BITS != 0)
        return OBJECTS_DAMAGED;
    if (!have_room(pendings))
        return OBJECTS_MEMORY;
    struct pending pending = {.begin = *record};
    pending.known = live_table_find(&objects->table, key, &slot);
    if (pending.known) {
        pending.old_size = objects->table.live.sizes[slot];
        int64_t pending_key = key_of_pending(stream, pendings->count);
        enum reason why =
            enter(objects, OP_REALLOC, key, pending.old_size, pending_key, &object);
        if (why != REASON_NONE)
            return answer_to(why);
    }
    pendings->pending[pendings->count++] = pending;
    return OBJECTS_DONE;
}

/* Restores the object of a pending realloc to its old address. */
static enum objects_answer fail_realloc(struct objects *objects, const struct pending *pending,
                                        int64_t key)
{
    int64_t object;
    objects->reallocs_failed++;
    if (!pending->known)
        return OBJECTS_DONE;
    enum reason why = enter(objects, OP_REALLOC, key, pending->old_size,
                            (int64_t)pending->begin.address, &object);
    return why == REASON_NONE ? OBJECTS_DONE : answer_to(why);
}

/* Moves the object of a pending realloc to the record's address. */
static enum objects_answer succeed(struct objects *objects, const struct record *record,
                                   int64_t key, struct columns *out)
{
    int64_t object;
    vacate(objects, record, out);
    enum reason why = enter(objects, OP_REALLOC, key, (int64_t)record->size,
                            (int64_t)record->address, &object);
    if (why != REASON_NONE)
        return answer_to(why);
    emit(out, OP_REALLOC, object, record);
    return OBJECTS_DONE;
}

static enum objects_answer end_realloc(struct objects *objects, const struct record *end,
                                       uint32_t stream, struct pendings *pendings,
                                       struct columns *out)
{
    if (pendings->count == 0)
        return OBJECTS_DAMAGED;
    struct pending pending = pendings->pending[--pendings->count];
    int64_t key = key_of_pending(stream, pendings->count);
    struct record *record = &pending.begin;
    if (end->special == SPECIAL_FAILED)
        return fail_realloc(objects, &pending, key);
    if (end->special == SPECIAL_RELEASED) {
        objects->frees_of_unknown += !pending.known;
        return !pending.known || release(objects, key, record, out) ? OBJECTS_DONE
                                                                     : OBJECTS_DAMAGED;
    }
    if (end->special == SPECIAL_MOVED)
        record->address = end->address;
    if (record->size > (uint64_t)MAX_SIZE)
        return OBJECTS_DAMAGED;
    if (pending.known)
        return succeed(objects, record, key, out);
    objects->reallocs_of_unknown++;
    return allocate(objects, record, out);
}

enum objects_answer objects_enter(struct objects *objects, const struct record *record,
                                  uint32_t stream, struct pendings *pendings,
                                  struct columns *out)
{
    if (record->address > INT64_MAX || record->alignment > (uint64_t)MAX_SIZE)
        return OBJECTS_DAMAGED;
    switch (record->kind) {
    case KIND_MALLOC:
        return record->size > (uint64_t)MAX_SIZE ? OBJECTS_DAMAGED : allocate(objects, record, out);
    case KIND_FREE:
        objects->frees_of_unknown += !release(objects, (int64_t)record->address, record, out);
        return OBJECTS_DONE;
    case KIND_REALLOC:
        return begin_realloc(objects, record, stream, pendings);
    case KIND_SPECIAL:
        if (record->special == SPECIAL_THREAD_END) {
            emit(out, OP_THREAD_END, NO_OBJECT, record);
            return OBJECTS_DONE;
        }
        return end_realloc(objects, record, stream, pendings, out);
    }
    return OBJECTS_DAMAGED;
}
