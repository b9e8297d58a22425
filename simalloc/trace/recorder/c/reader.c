#include "reader.h"

#include "../preload/numbers.h"
#include "guard.h"

#include <stdlib.h>

/* Returns the entry with this number of an array. Extends the array with zeroed entries if
 * necessary. Returns NULL when memory is exhausted. */
static void *entry_at(void **array, size_t *count, size_t *capacity, size_t number, size_t width)
{
    enum { FIRST = 1024 };
    if (number >= *capacity) {
        size_t room = *capacity ? *capacity : FIRST;
        while (room <= number)
            room *= 2;
        void *grown = realloc(*array, room * width);
        if (grown == NULL)
            return NULL;
        memset((char *)grown + *capacity * width, 0, (room - *capacity) * width);
        *array = grown;
        *capacity = room;
    }
    *count = number < *count ? *count : number + 1;
    return (char *)*array + number * width;
}

static enum decode_answer add_place(void *self, uint64_t number, uint64_t offset,
                                    const uint8_t *path, size_t length)
{
    struct reader *reader = self;
    if (number > MAX_NUMBERS)
        return DECODE_DAMAGED;
    struct place *place = entry_at((void **)&reader->places, &reader->place_count,
                                   &reader->place_capacity, (size_t)number, sizeof *place);
    if (place == NULL)
        return DECODE_NO_MEMORY;
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return DECODE_NO_MEMORY;
    free(place->path);
    *place = (struct place){offset, copy, length};
    memcpy(copy, path, length);
    return DECODED;
}

/* The number of a site is greater than the number of the calling site, so a path is finite. */
static enum decode_answer add_node(void *self, uint64_t number, uint64_t parent, uint64_t place)
{
    struct reader *reader = self;
    if (number > MAX_NUMBERS || parent >= number || place > MAX_NUMBERS)
        return DECODE_DAMAGED;
    struct site *site = entry_at((void **)&reader->sites, &reader->site_count,
                                 &reader->site_capacity, (size_t)number, sizeof *site);
    if (site == NULL)
        return DECODE_NO_MEMORY;
    *site = (struct site){(uint32_t)parent, (uint32_t)place};
    return DECODED;
}

static void sift_down(struct reader *reader, size_t at)
{
    struct source **heap = reader->heap;
    struct source *sinking = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= reader->heap_count)
            break;
        if (child + 1 < reader->heap_count &&
            heap[child + 1]->next.sequence < heap[child]->next.sequence)
            child++;
        if (heap[child]->next.sequence >= sinking->next.sequence)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = sinking;
}

static void sift_up(struct reader *reader, size_t at)
{
    struct source **heap = reader->heap;
    struct source *rising = heap[at];
    while (at > 0 && heap[(at - 1) / 2]->next.sequence > rising->next.sequence) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = rising;
}

static enum reader_answer damaged(struct reader *reader, const struct source *source,
                                  const char *complaint)
{
    const struct spans *spans = &reader->recording.streams[source->stream];
    reader->recording.complaint = complaint;
    reader->recording.place = spans->span[source->decoder.span].offset +
                              sizeof(struct segment_header) + source->decoder.position;
    return READER_DAMAGED;
}

/* Reads the source's next record. Sets `more` to whether the source has one. */
static enum reader_answer advance(struct reader *reader, struct source *source, bool *more)
{
    struct site_listener listener = {reader, add_place, add_node};
    enum decode_answer answer =
        decode_next(&source->decoder, &reader->recording,
                    &reader->recording.streams[source->stream], &listener, &source->next);
    *more = answer == DECODED;
    if (answer == DECODE_DAMAGED)
        return damaged(reader, source, "contains an unreadable record near here");
    return answer == DECODE_NO_MEMORY ? READER_FAILED : READER_DONE;
}

static bool have_sources(struct reader *reader)
{
    size_t count = reader->recording.stream_count;
    if (count == reader->source_count)
        return true;
    struct source **sources = realloc(reader->sources, count * sizeof *sources);
    if (sources == NULL)
        return false;
    reader->sources = sources;
    struct source **heap = realloc(reader->heap, count * sizeof *heap);
    if (heap == NULL)
        return false;
    reader->heap = heap;
    while (reader->source_count < count)
        sources[reader->source_count++] = NULL; /* the source may not have a segment yet */
    return true;
}

static struct source *source_of(struct reader *reader, size_t stream)
{
    struct source **place = &reader->sources[stream];
    if (*place == NULL && reader->recording.streams[stream].count > 0) {
        *place = calloc(1, sizeof **place);
        if (*place != NULL)
            (*place)->stream = (uint32_t)stream;
    }
    return *place;
}

/* Adds every source that has a record again to the heap. */
static enum reader_answer wake_sources(struct reader *reader)
{
    if (!have_sources(reader))
        return READER_FAILED;
    for (size_t stream = 0; stream < reader->source_count; stream++) {
        struct source *source = source_of(reader, stream);
        if (source == NULL && reader->recording.streams[stream].count > 0)
            return READER_FAILED;
        if (source == NULL || source->waiting)
            continue;
        enum reader_answer answer = advance(reader, source, &source->waiting);
        if (answer != READER_DONE)
            return answer;
        if (source->waiting) {
            reader->heap[reader->heap_count++] = source;
            sift_up(reader, reader->heap_count - 1);
        }
    }
    return READER_DONE;
}

/* Arguments and result of a call through `guarded`. */
struct call {
    struct reader *reader;
    const char *path;
    uint64_t before;
    struct columns *out;
    struct progress progress;
    struct large_blocks *large;
    uint8_t *into;
    uint64_t bytes;
    enum reader_answer answer;
};

static enum reader_answer call_guarded(void (*work)(void *), struct call *call)
{
    struct reader *reader = call->reader;
    if (!reader->cut_off)
        reader->cut_off = !guarded(work, call);
    if (!reader->cut_off)
        return call->answer;
    reader->recording.complaint = "was truncated while it was being read";
    reader->recording.place = 0;
    return READER_DAMAGED;
}

static void open_it(void *argument)
{
    struct call *call = argument;
    struct reader *reader = call->reader;
    if (!recording_open(&reader->recording, call->path))
        call->answer = reader->recording.complaint != NULL ? READER_DAMAGED : READER_FAILED;
    else
        call->answer = objects_init(&reader->objects) ? wake_sources(reader) : READER_FAILED;
}

enum reader_answer reader_open(struct reader *reader, const char *path)
{
    memset(reader, 0, sizeof *reader);
    reader->recording.descriptor = -1;
    return call_guarded(open_it, &(struct call){.reader = reader, .path = path});
}

void reader_close(struct reader *reader)
{
    for (size_t i = 0; i < reader->source_count; i++) {
        if (reader->sources[i] != NULL)
            free(reader->sources[i]->pendings.pending);
        free(reader->sources[i]);
    }
    for (size_t i = 0; i < reader->place_count; i++)
        free(reader->places[i].path);
    free(reader->sources);
    free(reader->heap);
    free(reader->places);
    free(reader->looks);
    free(reader->unwritten);
    free(reader->start.address);
    free(reader->start.size);
    free(reader->sites);
    objects_release(&reader->objects);
    recording_close(&reader->recording);
}

bool reader_begin_with(struct reader *reader, const int64_t *address, const int64_t *size,
                       size_t count)
{
    size_t bytes = count * sizeof *address;
    reader->start.address = malloc(bytes + 1);
    reader->start.size = malloc(bytes + 1);
    if (reader->start.address == NULL || reader->start.size == NULL)
        return false;
    memcpy(reader->start.address, address, bytes);
    memcpy(reader->start.size, size, bytes);
    reader->start.count = count;
    return true;
}

static void refresh_it(void *argument)
{
    struct call *call = argument;
    struct reader *reader = call->reader;
    if (!recording_refresh(&reader->recording))
        call->answer = reader->recording.complaint != NULL ? READER_DAMAGED : READER_FAILED;
    else
        call->answer = wake_sources(reader);
}

enum reader_answer reader_refresh(struct reader *reader)
{
    return call_guarded(refresh_it, &(struct call){.reader = reader});
}

static void stop_it(void *argument)
{
    struct call *call = argument;
    bool stopped = recording_stop(&call->reader->recording, call->path);
    call->answer = stopped ? READER_DONE : READER_FAILED;
}

enum reader_answer reader_stop(struct reader *reader, const char *path)
{
    return call_guarded(stop_it, &(struct call){.reader = reader, .path = path});
}

static void ask_progress(void *argument)
{
    struct call *call = argument;
    call->progress = recording_progress(&call->reader->recording);
}

struct progress reader_progress(struct reader *reader)
{
    struct call call = {.reader = reader};
    bool whole = call_guarded(ask_progress, &call) == READER_DONE;
    return whole ? call.progress : (struct progress){0};
}

static void measure_mappings(void *argument)
{
    struct call *call = argument;
    call->bytes = recording_mapping_bytes(&call->reader->recording);
}

uint64_t reader_mapping_bytes(struct reader *reader)
{
    struct call call = {.reader = reader};
    return call_guarded(measure_mappings, &call) == READER_DONE ? call.bytes : 0;
}

static void copy_mappings(void *argument)
{
    struct call *call = argument;
    call->bytes = recording_mappings(&call->reader->recording, call->into, call->bytes);
}

uint64_t reader_mappings(struct reader *reader, uint8_t *into, uint64_t most)
{
    struct call call = {.reader = reader, .into = into, .bytes = most};
    return call_guarded(copy_mappings, &call) == READER_DONE ? call.bytes : 0;
}

static void copy_large(void *argument)
{
    struct call *call = argument;
    recording_large(&call->reader->recording, call->large);
}

bool reader_large(struct reader *reader, struct large_blocks *into)
{
    return call_guarded(copy_large, &(struct call){.reader = reader, .large = into}) == READER_DONE;
}

int64_t reader_object(const struct reader *reader, uint64_t address)
{
    const struct live_table *table = &reader->objects.table;
    uint32_t slot;
    if (address > INT64_MAX || !live_table_find(table, (int64_t)address, &slot))
        return NO_OBJECT;
    return table->objects[slot];
}

static enum reader_answer add_look(struct reader *reader, const struct record *record,
                                   const struct columns *out)
{
    struct look *look = entry_at((void **)&reader->looks, &reader->look_count,
                                 &reader->look_capacity, reader->look_count, sizeof *look);
    if (look == NULL)
        return READER_FAILED;
    *look = (struct look){reader->events + out->count, record->time, record->resident,
                          record->mapped};
    return READER_DONE;
}

/* Adds a measurement of unwritten bytes. Ignores blocks that were allocated before the recording
 * began. */
static enum reader_answer add_unwritten(struct reader *reader, const struct record *record,
                                        const struct columns *out)
{
    const struct live_table *table = &reader->objects.table;
    uint32_t slot;
    if (record->address > INT64_MAX ||
        !live_table_find(table, (int64_t)record->address, &slot))
        return READER_DONE;
    struct unwritten *unwritten =
        entry_at((void **)&reader->unwritten, &reader->unwritten_count,
                 &reader->unwritten_capacity, reader->unwritten_count, sizeof *unwritten);
    if (unwritten == NULL)
        return READER_FAILED;
    uint64_t size = (uint64_t)table->live.sizes[slot];
    *unwritten = (struct unwritten){reader->events + out->count, table->objects[slot],
                                    record->size < size ? record->size : size};
    return READER_DONE;
}

static enum reader_answer enter(struct reader *reader, struct source *source,
                                const struct record *record, struct columns *out)
{
    reader->records++;
    if (record->kind == KIND_SPECIAL && record->special == SPECIAL_MEMORY)
        return add_look(reader, record, out);
    if (record->kind == KIND_SPECIAL && record->special == SPECIAL_UNWRITTEN)
        return add_unwritten(reader, record, out);
    switch (objects_enter(&reader->objects, record, source->stream, &source->pendings, out)) {
    case OBJECTS_DAMAGED:
        return damaged(reader, source, "contains an invalid record before here");
    case OBJECTS_MEMORY:
        return READER_FAILED;
    case OBJECTS_DONE:
        break;
    }
    return READER_DONE;
}

/* Adds the exit of a thread. Frees by the thread after its exit are added before the exit. */
static enum reader_answer enter_end(struct reader *reader, struct source *source,
                                    struct columns *out)
{
    uint32_t slot;
    struct record end = source->next, *next = &source->next;
    enum reader_answer answer = advance(reader, source, &source->waiting);
    while (answer == READER_DONE && source->waiting && next->kind == KIND_FREE &&
           next->thread == end.thread && out->count + 2 * EVENTS_OF_A_RECORD <= out->capacity &&
           live_table_find(&reader->objects.table, (int64_t)next->address, &slot)) {
        answer = enter(reader, source, next, out);
        if (answer == READER_DONE)
            answer = advance(reader, source, &source->waiting);
    }
    return answer == READER_DONE ? enter(reader, source, &end, out) : answer;
}

static enum reader_answer enter_next(struct reader *reader, struct source *source,
                                     struct columns *out)
{
    if (source->next.kind == KIND_SPECIAL && source->next.special == SPECIAL_THREAD_END)
        return enter_end(reader, source, out);
    enum reader_answer answer = enter(reader, source, &source->next, out);
    return answer == READER_DONE ? advance(reader, source, &source->waiting) : answer;
}

static enum reader_answer enter_start(struct reader *reader, struct columns *out)
{
    while (reader->start.entered < reader->start.count &&
           out->count + EVENTS_OF_A_RECORD <= out->capacity) {
        size_t at = reader->start.entered++;
        struct record record = {.kind = KIND_MALLOC,
                                .address = (uint64_t)reader->start.address[at],
                                .size = (uint64_t)reader->start.size[at]};
        switch (objects_enter(&reader->objects, &record, 0, NULL, out)) {
        case OBJECTS_DAMAGED:
            reader->recording.complaint = "begins with an invalid block";
            reader->recording.place = 0;
            return READER_DAMAGED;
        case OBJECTS_MEMORY:
            return READER_FAILED;
        case OBJECTS_DONE:
            break;
        }
    }
    return READER_DONE;
}

static enum reader_answer read_before(struct reader *reader, uint64_t before, struct columns *out)
{
    uint64_t lost_from = recording_progress(&reader->recording).lost_from;
    before = lost_from < before ? lost_from : before;
    enum reader_answer start = enter_start(reader, out);
    if (start != READER_DONE || reader->start.entered < reader->start.count)
        return start;
    while (reader->heap_count > 0 && out->count + EVENTS_OF_A_RECORD <= out->capacity) {
        struct source *source = reader->heap[0];
        if (source->next.sequence >= before)
            break;
        enum reader_answer answer = enter_next(reader, source, out);
        if (answer != READER_DONE)
            return answer;
        if (!source->waiting)
            reader->heap[0] = reader->heap[--reader->heap_count];
        if (reader->heap_count > 0)
            sift_down(reader, 0);
    }
    return READER_DONE;
}

static void read_it(void *argument)
{
    struct call *call = argument;
    call->answer = read_before(call->reader, call->before, call->out);
    call->reader->events += call->out->count;
}

enum reader_answer reader_read(struct reader *reader, uint64_t before, struct columns *out)
{
    return call_guarded(read_it,
                        &(struct call){.reader = reader, .before = before, .out = out});
}
