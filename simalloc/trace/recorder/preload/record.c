/* Records of calls, written into the stream of the calling thread. */
#include "large.h"
#include "next.h"
#include "process.h"
#include "sample.h"
#include "stream.h"
#include "stream_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

/* Returns whether an event requests a block, so that its site is recorded. */
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
    if (event.kind == KIND_SPECIAL && event.special == SPECIAL_UNWRITTEN)
        out = put_number(put_number(out, event.address), event.size);
    if (stream->columns != 0 && event.kind != KIND_SPECIAL) {
        out = stream->columns & COLUMN_TIME ? put_time(codec, out) : out;
        out = stream->depth > 0 && asks(event) ? put_number(out, site) : out;
    }
    commit(stream, out);
}

/* Stores an event of a signal handler that has interrupted the writing of a record. The event is
 * written when that record is complete. Signal handlers may interrupt one another here. */
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

/* Writes the stored events. The stream is still marked busy, so signal handlers may store more
 * events meanwhile. */
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

/* Records an event after all destructors of the thread have run. An exiting thread may then free
 * what glibc has kept for threads that exited before it. The event is written to the stream of the
 * exited thread, which no other thread is likely to have taken yet. */
static __attribute__((noinline)) void record_late(struct event event)
{
    sigset_t all, before;
    int error = errno;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    struct stream *stream = late_stream();
    if (stream != NULL) {
        event.sequence = __atomic_fetch_add(stream->sequence, 1, __ATOMIC_SEQ_CST);
        put_event(stream, event);
        lay_idle(stream);
    }
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

void record_thread_end(void)
{
    record((struct event){.kind = KIND_SPECIAL, .special = SPECIAL_THREAD_END});
}

/* Records the memory that the process holds now. */
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

static always_inline bool is_of_malloc(const struct module *library)
{
    return likely(library->start == next.module.start);
}

/* Returns the usable bytes of a live block that the library `by` has allocated, or 0 if unknown.
 * malloc_usable_size of malloc's library crashes on blocks of other libraries. */
static always_inline size_t usable_bytes(const void *address, const struct module *by)
{
    if (next.usable_size == NULL || !is_of_malloc(by) || process_stopped())
        return 0;
    const struct module *outer = enter(&next.module);
    size_t bytes = next.usable_size((void *)(uintptr_t)address);
    inside = outer;
    return bytes;
}

/* Counts bytes that have been allocated or, if negative, are about to be freed. Each thread reports
 * its bytes in batches, so that threads rarely access the shared total. */
static always_inline void count_bytes(int64_t bytes)
{
    enum { FEW = 16 << 10 };
    struct stream *stream = current;
    if (stream == NULL)
        return;
    stream->unreported += bytes;
    if (likely(stream->unreported < FEW && stream->unreported > -FEW))
        return;
    bytes = stream->unreported;
    stream->unreported = 0;
    if (process_peaks(stream->process, bytes))
        record_memory();
}

static void record_unwritten(uintptr_t address, uint64_t bytes)
{
    process_count_unwritten();
    record((struct event){.kind = KIND_SPECIAL,
                          .special = SPECIAL_UNWRITTEN,
                          .address = address,
                          .size = bytes});
}

static __attribute__((noinline)) void enter_large(uintptr_t address, size_t bytes)
{
    const struct stream *stream = current;
    if (stream != NULL)
        large_taken(address, bytes, __atomic_load_n(stream->sequence, __ATOMIC_RELAXED));
}

/* Counts a block that the program has received. */
static always_inline void enter_block(const void *address, const struct module *by)
{
    size_t bytes = usable_bytes(address, by);
    count_bytes((int64_t)bytes);
    if (!likely(bytes < LARGE_BLOCK))
        enter_large((uintptr_t)address, bytes);
}

static always_inline void enter_new_block(const void *address, const struct module *by)
{
    enter_block(address, by);
    if (!is_of_malloc(by))
        process_count_other(by->start);
}

static __attribute__((noinline)) void leave_large(uintptr_t address, size_t bytes)
{
    uint64_t unwritten = large_unwritten(address, bytes);
    if (unwritten != 0)
        record_unwritten(address, unwritten);
    large_freed(address);
}

/* Returns the bytes of a block that is about to be freed. The caller counts them when it records
 * the free. */
static always_inline int64_t leave_block(const void *address, const struct module *by)
{
    size_t bytes = usable_bytes(address, by);
    if (!likely(bytes < LARGE_BLOCK))
        leave_large((uintptr_t)address, bytes);
    return (int64_t)bytes;
}

/* Records the program's regular end, after its exit handlers have run. */
__attribute__((destructor)) static void record_end(void)
{
    begin_use();
    if (!process_stopped() && process_large() != NULL) {
        record_memory();
        large_each(record_unwritten);
        process_ended();
    }
    end_use();
}

/* Returns whether a block must be recorded. */
static always_inline bool is_wanted(const void *address, size_t size)
{
    return likely(sample_every() == 0) || sample_takes(address, size);
}

static always_inline void record_new_block(struct event event, const struct module *by)
{
    const void *address = (const void *)(uintptr_t)event.address;
    begin_use();
    if (is_wanted(address, event.size)) {
        record(event);
        enter_new_block(address, by);
    }
    end_use();
}

void record_malloc(const void *address, size_t size, size_t alignment, const struct module *by,
                   const void *caller)
{
    record_new_block((struct event){.kind = KIND_MALLOC,
                                    .address = (uintptr_t)address,
                                    .size = size,
                                    .alignment = alignment,
                                    .caller = caller},
                     by);
}

void record_calloc(const void *address, size_t size, const struct module *by, const void *caller)
{
    record_new_block((struct event){.kind = KIND_MALLOC,
                                    .address = (uintptr_t)address,
                                    .size = size,
                                    .zeroed = true,
                                    .caller = caller},
                     by);
}

/* Records an event that ends the life of a block, at least under its present size. */
static always_inline void record_old_block(struct event event, const struct module *by)
{
    int64_t bytes = leave_block((const void *)(uintptr_t)event.address, by);
    record(event);
    count_bytes(-bytes);
}

void record_free(const void *address, const struct module *by)
{
    begin_use();
    if (sample_every() == 0 || sample_drops(address))
        record_old_block((struct event){.kind = KIND_FREE, .address = (uintptr_t)address}, by);
    end_use();
}

void record_realloc_begin(const void *address, size_t size, const struct module *by,
                          const void *caller)
{
    begin_use();
    record_old_block((struct event){.kind = KIND_REALLOC,
                                    .address = (uintptr_t)address,
                                    .size = size,
                                    .caller = caller},
                     by);
    end_use();
}

void record_realloc_end(enum special what, const void *address, const struct module *by)
{
    begin_use();
    record((struct event){.kind = KIND_SPECIAL,
                          .special = what,
                          .address = what == SPECIAL_MOVED ? (uintptr_t)address : 0});
    if (address != NULL)
        enter_block(address, by);
    end_use();
}
