#include "stream.h"

#include "next.h"
#include "process.h"
#include "python.h"
#include "sample.h"
#include "sites.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define likely(condition) __builtin_expect(!!(condition), true)
#define always_inline inline __attribute__((always_inline))

enum { SMALLEST_SEGMENT = 16 << 10, LARGEST_SEGMENT = 1 << 20, GROWTH = 8, ASIDE = 64 };

struct event {
    enum kind kind;
    enum special special; /* if the kind is KIND_SPECIAL */
    uint64_t address;
    uint64_t size;
    uint64_t alignment; /* 0: none asked for */
    bool zeroed;
    bool aside; /* what `caller` has called has returned */
    uint64_t sequence;
    const void *caller;
};

/* Lives in process_memory, so a forked child finds it zeroed: without room. */
struct stream {
    uint8_t *cursor; /* where the next record goes */
    uint8_t *limit;  /* before it, there is room for a record of this thread and of the signal
                        handlers that may interrupt it */
    uint64_t *sequence; /* the process' counter */
    struct process *process;
    int64_t untold; /* bytes allocated less bytes freed, of which the process does not know yet */
    struct segment_header *segment;
    uint32_t columns;
    uint32_t depth; /* of the sites that are recorded; 0: none are */
    volatile sig_atomic_t busy; /* records are being written */
    struct codec codec;
    /* What signal handlers did while the stream was busy, first come first. */
    struct event aside[ASIDE];
    volatile sig_atomic_t aside_count;
    uint32_t number;
    uint32_t thread; /* that writes, or wrote last */
    struct trail trail;
    struct python_stack python;
    int farewells; /* how often the thread's end has been told of */
    uint64_t bytes;           /* of all its segments */
    struct stream *next_idle; /* for the list in struct process */
};

static __thread struct stream *current;
static __thread struct {
    struct stream *stream; /* what the thread wrote into before its end; NULL: it has not ended */
    uint32_t thread;
} ended;
static pthread_key_t thread_end;
static bool thread_end_known;

static uint8_t *records_of(struct segment_header *segment)
{
    return (uint8_t *)segment + sizeof *segment;
}

static always_inline void commit(struct stream *stream, uint8_t *end)
{
    stream->cursor = end;
    __atomic_store_n(&stream->segment->committed, (uint64_t)(end - records_of(stream->segment)),
                     __ATOMIC_RELEASE);
}

void stream_commit(struct stream *stream, uint8_t *end)
{
    commit(stream, end);
}

/* Gives the stream a segment in proportion to what it has written, so that what is not used of the
 * last one is a small part of the whole. */
static bool add_segment(struct process *process, struct stream *stream)
{
    enum { ROOM = 3 * (EVENT_BYTES + SITE_BYTES) };
    uint64_t bytes = stream->bytes / GROWTH;
    bytes = bytes < SMALLEST_SEGMENT ? SMALLEST_SEGMENT : bytes;
    bytes = bytes > LARGEST_SEGMENT ? LARGEST_SEGMENT : bytes;
    process_lock(process);
    struct segment_header *segment = process_add_segment(process, bytes, stream->number);
    process_unlock(process);
    if (segment == NULL)
        return false;
    if (stream->segment != NULL)
        process_release_segment(stream->segment);
    stream->segment = segment;
    stream->bytes += segment->bytes;
    stream->cursor = records_of(segment);
    stream->limit = (uint8_t *)segment + segment->bytes - ROOM;
    return true;
}

static struct stream *new_stream(struct process *process)
{
    struct stream *stream = process_memory(sizeof *stream);
    if (stream == NULL || (process->header->depth > 0 && !sites_begin()))
        return NULL;
    stream->sequence = &process->header->sequence;
    stream->process = process;
    stream->columns = process->header->columns;
    stream->depth = process->header->depth;
    stream->codec.time = process->header->clock;
    stream->number = __atomic_fetch_add(&process->streams, 1, __ATOMIC_RELAXED);
    return stream;
}

/* Takes a stream out of the idle ones: this one if it is there, or else the first; NULL: none. */
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

static void lay_idle(struct process *process, struct stream *stream)
{
    process_lock(process);
    stream->next_idle = NULL;
    *(process->last_idle == NULL ? &process->idle : &process->last_idle->next_idle) = stream;
    process->last_idle = stream;
    process_unlock(process);
}

/* Takes the stream of a thread that has ended, or a new one. */
static struct stream *take_stream(struct process *process)
{
    struct stream *stream = take_idle(process, NULL);
    if (stream == NULL && (stream = new_stream(process)) == NULL) {
        process_lose_from_now(errno);
        return NULL;
    }
    if (stream->cursor >= stream->limit && !add_segment(process, stream))
        return NULL;
    stream->thread = __atomic_fetch_add(&process->threads, 1, __ATOMIC_RELAXED);
    commit(stream, put_number(put_special(stream->cursor, SPECIAL_THREAD), stream->thread));
    return stream;
}

static void end_thread(void *stream);

static struct stream *stream_with_room(struct process *process)
{
    if (current != NULL && current->segment != NULL)
        return current->cursor < current->limit || add_segment(process, current) ? current : NULL;
    if (!thread_end_known)
        thread_end_known = pthread_key_create(&thread_end, end_thread) == 0;
    current = take_stream(process);
    if (current != NULL && thread_end_known)
        pthread_setspecific(thread_end, current);
    return current;
}

/* The stream of this thread with room for an event, or NULL if none is recorded. */
static __attribute__((noinline)) struct stream *ready_stream(void)
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

/* Up to its limit a stream has room for more than this. */
uint8_t *stream_room(struct stream *stream)
{
    return stream->cursor < stream->limit || ready_stream() == stream ? stream->cursor : NULL;
}

struct python_stack *stream_python(void)
{
    struct stream *stream = current != NULL && current->segment != NULL ? current : ready_stream();
    return stream == NULL || stream->depth == 0 ? NULL : &stream->python;
}

static uint64_t time_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint8_t *put_time(struct codec *codec, uint8_t *out)
{
    uint64_t time = time_now();
    uint64_t passed = time > codec->time ? time - codec->time : 0;
    codec->time += passed;
    return put_number(out, passed);
}

static always_inline uint8_t *put_before(uint8_t *out, struct event event)
{
    if (event.alignment != 0)
        out = put_number(put_special(out, SPECIAL_ALIGNMENT), event.alignment);
    if (event.zeroed)
        out = put_special(out, SPECIAL_ZEROED);
    if (event.address % (1 << GRANULE_SHIFT) != 0)
        out = put_number(put_special(out, SPECIAL_OFFSET), event.address % (1 << GRANULE_SHIFT));
    return out;
}

/* Whether an event asks for a block, so that its site is recorded. */
static always_inline bool asks(struct event event)
{
    return event.kind == KIND_MALLOC || event.kind == KIND_REALLOC;
}

static __attribute__((noinline)) uint32_t site_of_event(struct stream *stream, struct event event)
{
    struct trail *trail = &stream->trail;
    size_t count = event.aside ? 0 : python_places(&stream->python, trail->taken, stream->depth);
    if (count > 0)
        return site_of_places(stream, trail, count);
    return site_of(stream, trail, event.caller, stream->depth, !event.aside);
}

static always_inline void put_event(struct stream *stream, struct event event)
{
    struct codec *codec = &stream->codec;
    uint32_t site = stream->depth > 0 && asks(event) ? site_of_event(stream, event) : 0;
    uint8_t *out = put_before(stream->cursor, event);
    uint64_t gap = fold(event.sequence - codec->next_sequence);
    unsigned tag = event.kind | (gap != 0 ? TAG_GAP : 0);
    codec->next_sequence = event.sequence + 1;

    if (event.kind == KIND_SPECIAL)
        *out++ = (uint8_t)(tag | event.special << TAG_SPECIAL_SHIFT);
    if (event.kind == KIND_FREE || event.kind == KIND_REALLOC)
        out = put_address(codec, out, tag, event.address >> GRANULE_SHIFT, &codec->released);
    else if (event.kind == KIND_MALLOC || event.special == SPECIAL_MOVED)
        out = put_address(codec, out, tag, event.address >> GRANULE_SHIFT, &codec->allocated);
    if (gap != 0)
        out = put_number(out, gap);
    if (event.kind == KIND_MALLOC || event.kind == KIND_REALLOC)
        out = put_number(out, event.size);
    if (event.kind == KIND_SPECIAL && event.special == SPECIAL_MEMORY) {
        out = put_number(out, time_now() - stream->process->header->clock);
        out = put_number(put_number(out, event.address), event.size);
    }
    if (stream->columns != 0 && event.kind != KIND_SPECIAL) {
        out = stream->columns & COLUMN_TIME ? put_time(codec, out) : out;
        out = stream->depth > 0 && asks(event) ? put_number(out, site) : out;
    }
    commit(stream, out);
}

/* A signal handler allocates in the middle of a record: it is written when that is done. Handlers
 * may interrupt one another here. */
static __attribute__((noinline)) void put_aside(struct stream *stream, struct event event)
{
    int place = __atomic_fetch_add(&stream->aside_count, 1, __ATOMIC_RELAXED);
    if (place < ASIDE) {
        event.aside = true;
        stream->aside[place] = event;
        return;
    }
    __atomic_fetch_sub(&stream->aside_count, 1, __ATOMIC_RELAXED);
    process_lose(event.sequence, EOVERFLOW);
}

/* The stream is busy, so that more may be put aside meanwhile. */
static __attribute__((noinline)) void put_what_is_aside(struct stream *stream)
{
    int done = 0, count;
    do {
        for (; done < stream->aside_count; done++)
            if (stream->cursor < stream->limit || ready_stream() == stream)
                put_event(stream, stream->aside[done]);
        count = done;
    } while (!__atomic_compare_exchange_n(&stream->aside_count, &count, 0, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

static always_inline void set_busy(struct stream *stream, int busy)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    stream->busy = busy;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* After all destructors, a thread that ends may free what glibc kept for threads that ended before
 * it. That is written as the ended thread's, into its stream, which nobody needs so soon. */
static __attribute__((noinline)) void record_late(struct event event)
{
    sigset_t all, before;
    int error = errno;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    struct process *process = process_begun();
    struct stream *stream = process == NULL ? NULL : take_idle(process, ended.stream);
    if (stream != NULL && (stream->cursor < stream->limit || add_segment(process, stream))) {
        if (stream->thread != ended.thread)
            commit(stream, put_number(put_special(stream->cursor, SPECIAL_THREAD), ended.thread));
        stream->thread = ended.thread;
        event.sequence = __atomic_fetch_add(stream->sequence, 1, __ATOMIC_SEQ_CST);
        put_event(stream, event);
    }
    if (stream != NULL)
        lay_idle(process, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

static always_inline void record(struct event event)
{
    struct stream *stream = current;
    if (!likely(stream != NULL && stream->cursor < stream->limit)) {
        if (ended.stream != NULL) {
            record_late(event);
            return;
        }
        stream = ready_stream();
        if (stream == NULL)
            return;
    }
    event.sequence = __atomic_fetch_add(stream->sequence, 1, __ATOMIC_SEQ_CST);
    if (!likely(!stream->busy)) {
        put_aside(stream, event);
        return;
    }
    set_busy(stream, 1);
    put_event(stream, event);
    set_busy(stream, 0);
    while (!likely(stream->aside_count == 0)) {
        set_busy(stream, 1);
        put_what_is_aside(stream);
        set_busy(stream, 0);
    }
}

/* Records what the process holds now, all of it. */
static __attribute__((noinline)) void record_memory(void)
{
    char text[64];
    int error = errno, descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0)
        close(descriptor);
    errno = error;
    if (length <= 0)
        return;
    text[length] = '\0';
    char *rest;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), mapped = strtoull(text, &rest, 10);
    record((struct event){.kind = KIND_SPECIAL,
                          .special = SPECIAL_MEMORY,
                          .address = strtoull(rest, NULL, 10) * page,
                          .size = mapped * page});
}

/* Counts the bytes of a block that has been allocated, or (-1) is about to be freed. Of each
 * thread some are not told, so that threads seldom meet over it. */
static always_inline void count_bytes(const void *address, int64_t sign)
{
    enum { FEW = 16 << 10 };
    struct stream *stream = current;
    if (stream == NULL || next.usable_size == NULL)
        return;
    stream->untold += sign * (int64_t)next.usable_size((void *)(uintptr_t)address);
    if (likely(stream->untold < FEW && stream->untold > -FEW))
        return;
    int64_t bytes = stream->untold;
    stream->untold = 0;
    if (process_peaks(stream->process, bytes))
        record_memory();
}

/* Whether a block is to be recorded. */
static always_inline bool is_wanted(const void *address, size_t size)
{
    return likely(sample_every() == 0) || sample_takes(address, size);
}

void record_malloc(const void *address, size_t size, size_t alignment, const void *caller)
{
    if (!is_wanted(address, size))
        return;
    record((struct event){.kind = KIND_MALLOC,
                          .address = (uintptr_t)address,
                          .size = size,
                          .alignment = alignment,
                          .caller = caller});
    count_bytes(address, 1);
}

void record_calloc(const void *address, size_t size, const void *caller)
{
    if (!is_wanted(address, size))
        return;
    record((struct event){.kind = KIND_MALLOC,
                          .address = (uintptr_t)address,
                          .size = size,
                          .zeroed = true,
                          .caller = caller});
    count_bytes(address, 1);
}

void record_free(const void *address)
{
    if (sample_every() != 0 && !sample_drops(address))
        return;
    record((struct event){.kind = KIND_FREE, .address = (uintptr_t)address});
    count_bytes(address, -1);
}

void record_realloc_begin(const void *address, size_t size, const void *caller)
{
    record((struct event){.kind = KIND_REALLOC,
                          .address = (uintptr_t)address,
                          .size = size,
                          .caller = caller});
    count_bytes(address, -1);
}

void record_realloc_end(enum special what, const void *address)
{
    record((struct event){.kind = KIND_SPECIAL,
                          .special = what,
                          .address = what == SPECIAL_MOVED ? (uintptr_t)address : 0});
    if (address != NULL)
        count_bytes(address, 1);
}

static void give_stream_back(struct stream *stream)
{
    struct process *process = process_begun();
    if (process == NULL || stream->segment == NULL) /* NULL: a parent's stream */
        return;
    record((struct event){.kind = KIND_SPECIAL, .special = SPECIAL_THREAD_END});
    current = NULL;
    ended.stream = stream;
    ended.thread = stream->thread;
    stream->farewells = 0;
    stream->python.depth = 0;
    lay_idle(process, stream);
}

/* Called when a thread ends, and again as long as it asks for that: the destructors of the
 * program's own data may still allocate and free, and come in any order. */
static void end_thread(void *of)
{
    sigset_t all, before;
    struct stream *stream = of;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (++stream->farewells < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(thread_end, stream);
    else
        give_stream_back(stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
