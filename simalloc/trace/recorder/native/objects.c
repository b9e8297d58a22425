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
    free(objects->sizes);
}

static int64_t key_of_pending(uint32_t stream, size_t nested)
{
    return -1 - (int64_t)((uint64_t)stream << NESTED_BITS | nested);
}

static void emit(struct columns *out, enum op op, int64_t object, uint64_t address,
                 const struct record *record)
{
    size_t at = out->count++;
    out->op[at] = (uint8_t)op;
    out->object[at] = object;
    out->address[at] = (int64_t)address;
    out->size[at] = op == OP_FREE ? 0 : (int64_t)record->size;
    out->alignment[at] = op == OP_MALLOC ? (int64_t)record->alignment : 0;
    out->thread[at] = record->thread;
    out->time[at] = (int64_t)record->time;
    out->site[at] = record->site;
}

static bool resize(struct objects *objects, uint32_t slot, uint64_t size)
{
    if (slot >= objects->sizes_capacity) {
        size_t capacity = objects->sizes_capacity ? 2 * objects->sizes_capacity : 1024;
        int64_t *grown = realloc(objects->sizes, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        memset(grown + objects->sizes_capacity, 0,
               (capacity - objects->sizes_capacity) * sizeof *grown);
        objects->sizes = grown;
        objects->sizes_capacity = capacity;
    }
    objects->live_bytes += (int64_t)size - objects->sizes[slot];
    objects->sizes[slot] = (int64_t)size;
    return true;
}

/* Frees the object with this key, if there is one. */
static enum reason release(struct objects *objects, int64_t key, uint64_t address,
                           const struct record *record, struct columns *out)
{
    int64_t object;
    uint32_t slot;
    enum reason why = live_table_take_away(&objects->table, key, &object, &slot);
    if (why == REASON_NONE) {
        resize(objects, slot, 0);
        emit(out, OP_FREE, object, address, record);
    }
    return why;
}

/* Whoever held this address has lost it without our seeing it. */
static void vacate(struct objects *objects, const struct record *record, struct columns *out)
{
    if (release(objects, (int64_t)record->address, record->address, record, out) == REASON_NONE)
        objects->frees_unseen++;
}

static enum objects_answer allocate(struct objects *objects, const struct record *record,
                                    struct columns *out)
{
    int64_t object;
    uint32_t slot;
    vacate(objects, record, out);
    if (live_table_add(&objects->table, (int64_t)record->address, &object, &slot) != REASON_NONE ||
        !resize(objects, slot, record->size))
        return OBJECTS_MEMORY;
    emit(out, OP_MALLOC, object, record->address, record);
    return OBJECTS_DONE;
}

static enum objects_answer begin_realloc(struct objects *objects, const struct record *record,
                                         uint32_t stream, struct pendings *pendings)
{
    if (pendings->count == pendings->capacity) {
        size_t capacity = pendings->capacity ? 2 * pendings->capacity : 1;
        struct pending *grown = realloc(pendings->pending, capacity * sizeof *grown);
        if (grown == NULL)
            return OBJECTS_MEMORY;
        pendings->pending = grown;
        pendings->capacity = capacity;
    }
    int64_t object;
    uint32_t slot;
    int64_t key = (int64_t)record->address;
    if (pendings->count >> NESTED_BITS != 0)
        return OBJECTS_DAMAGED;
    bool known = live_table_find(&objects->table, key, &object, &slot) == REASON_NONE;
    if (known)
        live_table_change_key(&objects->table, key, key_of_pending(stream, pendings->count));
    pendings->pending[pendings->count++] = (struct pending){*record, known};
    return OBJECTS_DONE;
}

/* The object of a pending realloc comes down at the record's address, or stays up in the air. */
static enum objects_answer come_down(struct objects *objects, struct record *record, int64_t key,
                                     struct columns *out)
{
    int64_t object;
    uint32_t slot;
    vacate(objects, record, out);
    if (live_table_find(&objects->table, key, &object, &slot) != REASON_NONE)
        return OBJECTS_DAMAGED;
    live_table_change_key(&objects->table, key, (int64_t)record->address);
    if (!resize(objects, slot, record->size))
        return OBJECTS_MEMORY;
    emit(out, OP_REALLOC, object, record->address, record);
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
    if (end->special == SPECIAL_FAILED) {
        objects->reallocs_failed++;
        if (pending.known)
            live_table_change_key(&objects->table, key, (int64_t)record->address);
        return OBJECTS_DONE;
    }
    if (end->special == SPECIAL_RELEASED) {
        if (!pending.known)
            objects->frees_of_unknown++;
        else if (release(objects, key, record->address, record, out) != REASON_NONE)
            return OBJECTS_MEMORY;
        return OBJECTS_DONE;
    }
    if (end->special == SPECIAL_MOVED)
        record->address = end->address;
    if (pending.known)
        return come_down(objects, record, key, out);
    objects->reallocs_of_unknown++;
    return allocate(objects, record, out);
}

enum objects_answer objects_enter(struct objects *objects, const struct record *record,
                                  uint32_t stream, struct pendings *pendings,
                                  struct columns *out)
{
    if (record->address >> 63 != 0 || record->size > (uint64_t)MAX_SIZE)
        return OBJECTS_DAMAGED;
    switch (record->kind) {
    case KIND_MALLOC:
        return allocate(objects, record, out);
    case KIND_FREE:
        if (release(objects, (int64_t)record->address, record->address, record, out) !=
            REASON_NONE)
            objects->frees_of_unknown++;
        return OBJECTS_DONE;
    case KIND_REALLOC:
        return begin_realloc(objects, record, stream, pendings);
    case KIND_SPECIAL:
        return end_realloc(objects, record, stream, pendings, out);
    }
    return OBJECTS_DAMAGED;
}
