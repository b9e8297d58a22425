#include "stream.h"

#include "next.h"
#include "process.h"
#include "stack.h"
#include "stream_parts.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

enum { SMALLEST_SEGMENT = 16 << 10, LARGEST_SEGMENT = 1 << 20, GROWTH = 8 };

__thread struct stream *current;
__thread struct ended ended;
__thread uint32_t number_at_start;
static pthread_key_t thread_end;
static bool thread_end_known;

void stream_commit(struct stream *stream, uint8_t *end)
{
    commit(stream, end);
}

/* Adds a segment in proportion to the stream's size, so that the unused part of its last segment is
 * a small part of the stream. */
static bool add_segment(struct process *process, struct stream *stream)
{
    enum { ROOM = 3 * (EVENT_BYTES + SITE_BYTES) };
    uint64_t bytes = stream->bytes / GROWTH;
    bytes = bytes < SMALLEST_SEGMENT ? SMALLEST_SEGMENT : bytes;
    bytes = bytes > LARGEST_SEGMENT ? LARGEST_SEGMENT : bytes;
    process_lock(process);
    struct segment_header *segment = process_add_segment(process, &bytes, stream->number);
    process_unlock(process);
    if (segment == NULL)
        return false;
    if (stream->segment != NULL)
        process_release_segment(stream->segment, stream->segment_bytes);
    stream->segment = segment;
    stream->segment_bytes = bytes;
    stream->bytes += bytes;
    stream->cursor = records_of(segment);
    stream->limit = (uint8_t *)segment + bytes - ROOM;
    return true;
}

/* Allocates a stream. After an attach, all threads begin at the same time but share one table of
 * call sites. */
static struct stream *new_stream(struct process *process)
{
    struct stream *stream = process_memory(sizeof *stream);
    if (stream == NULL)
        return NULL;
    stream->sequence = &process->header->sequence;
    stream->process = process;
    stream->columns = process->header->columns;
    stream->depth = process->header->depth;
    stream->codec.time = process->header->clock;
    process_lock(process);
    bool ready = stream->depth == 0 || sites_begin();
    if (ready) {
        stream->number = process->streams++;
        stream->next_made = process->made;
        process->made = stream;
    }
    process_unlock(process);
    return ready ? stream : NULL;
}

/* Removes a stream from the list of idle streams: `wanted` if it is idle, otherwise the first.
 * Returns NULL if no stream is idle. */
static struct stream *take_idle(struct process *process, const struct stream *wanted)
{
    struct stream *before = NULL, *found;
    process_lock(process);
    for (found = process->idle; found != NULL && found != wanted; found = found->next_idle)
        before = found;
    if (found == NULL) {
        found = process->idle;
        before = NULL;
    }
    if (found != NULL) {
        *(before == NULL ? &process->idle : &before->next_idle) = found->next_idle;
        if (process->last_idle == found)
            process->last_idle = before;
    }
    process_unlock(process);
    return found;
}

void lay_idle(struct stream *stream)
{
    struct process *process = stream->process;
    process_lock(process);
    stream->next_idle = NULL;
    *(process->last_idle == NULL ? &process->idle : &process->last_idle->next_idle) = stream;
    process->last_idle = stream;
    process_unlock(process);
}

/* Returns the stream of a thread that has exited, or a new stream. */
static struct stream *take_stream(struct process *process)
{
    struct stream *stream = take_idle(process, NULL);
    if (stream == NULL && (stream = new_stream(process)) == NULL) {
        process_lose_from_now(errno);
        return NULL;
    }
    if (stream->cursor >= stream->limit && !add_segment(process, stream))
        return NULL;
    stream->thread = number_at_start != 0
                         ? number_at_start - 1
                         : __atomic_fetch_add(&process->threads, 1, __ATOMIC_RELAXED);
    commit(stream, put_number(put_special(stream->cursor, SPECIAL_THREAD), stream->thread));
    return stream;
}

struct stream *late_stream(void)
{
    struct process *process = process_begun();
    struct stream *stream = process == NULL ? NULL : take_idle(process, ended.stream);
    if (stream != NULL && stream->cursor >= stream->limit && !add_segment(process, stream)) {
        lay_idle(stream);
        return NULL;
    }
    if (stream != NULL && stream->thread != ended.thread)
        commit(stream, put_number(put_special(stream->cursor, SPECIAL_THREAD), ended.thread));
    if (stream != NULL)
        stream->thread = ended.thread;
    return stream;
}

static void end_thread(void *stream);

/* Creates the key that reports thread exits, once. Several threads may begin at the same time. */
static bool know_thread_ends(struct process *process)
{
    process_lock(process);
    if (!thread_end_known)
        thread_end_known = pthread_key_create(&thread_end, end_thread) == 0;
    bool known = thread_end_known;
    process_unlock(process);
    return known;
}

static struct stream *stream_with_room(struct process *process)
{
    if (current != NULL && current->segment != NULL)
        return current->cursor < current->limit || add_segment(process, current) ? current : NULL;
    bool ends_known = know_thread_ends(process);
    if (process->header->depth > 1)
        stack_begin_thread();
    current = take_stream(process);
    if (current != NULL && ends_known)
        pthread_setspecific(thread_end, current);
    return current;
}

struct stream *ready_stream(void)
{
    sigset_t all, before;
    int cancelling, error = errno;
    if (process_stopped())
        return NULL;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    struct process *process = process_begun();
    struct stream *stream = process == NULL ? NULL : stream_with_room(process);
    pthread_setcancelstate(cancelling, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return stream;
}

void stream_release_all(struct process *process)
{
    for (struct stream *stream = process->made; stream != NULL; stream = stream->next_made)
        if (stream->segment != NULL)
            process_release_segment(stream->segment, stream->segment_bytes);
    if (thread_end_known)
        pthread_key_delete(thread_end);
    thread_end_known = false;
}

void stream_end(void)
{
    if (current != NULL)
        current->limit = NULL;
}

/* A stream that is below its limit has more space than SITE_BYTES. */
uint8_t *stream_room(struct stream *stream)
{
    return stream->cursor < stream->limit || ready_stream() == stream ? stream->cursor : NULL;
}

struct python_stack *stream_python(void)
{
    struct stream *stream = current != NULL && current->segment != NULL ? current : ready_stream();
    return stream == NULL || stream->depth == 0 ? NULL : &stream->python;
}

static void give_stream_back(struct stream *stream)
{
    if (process_begun() == NULL || stream->segment == NULL) /* a NULL segment marks the stream of
                                                             * the parent process */
        return;
    record_thread_end();
    current = NULL;
    ended.stream = stream;
    ended.thread = stream->thread;
    stream->farewells = 0;
    stream->python.depth = 0;
    lay_idle(stream);
}

/* Runs at thread exit, and again as long as it sets the key again. The destructors of the program's
 * own data run in any order and may still allocate and free. */
static void end_thread(void *of)
{
    sigset_t all, before;
    struct stream *stream = of;
    if (process_stopped())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    begin_use();
    if (++stream->farewells < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(thread_end, stream);
    else
        give_stream_back(stream);
    end_use();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
