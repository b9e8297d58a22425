/* Declarations shared by the management of streams (stream.c) and the writing of records
 * (record.c). */
#ifndef SIMALLOC_RECORDING_STREAM_PARTS_H
#define SIMALLOC_RECORDING_STREAM_PARTS_H

#include "codec.h"
#include "format.h"
#include "python.h"
#include "sites.h"

#include <signal.h>

#define likely(condition) __builtin_expect(!!(condition), true)
#define always_inline inline __attribute__((always_inline))

enum { ASIDE = 64 };

struct event {
    enum kind kind;
    enum special special; /* valid if `kind` is KIND_SPECIAL */
    uint64_t address;
    uint64_t size;
    uint64_t alignment; /* requested alignment, or 0 */
    bool zeroed;
    bool aside; /* true if the function that `caller` called has already returned */
    uint64_t sequence;
    const void *caller;
};

/* Writing state of a thread, in process_memory. A forked child finds it zeroed, without space for
 * records. */
struct stream {
    uint8_t *cursor; /* place of the next record */
    uint8_t *limit;  /* end of the space for records, followed by space for one more record of this
                      * thread and records of signal handlers that interrupt it */
    uint64_t *sequence; /* the process's counter of records */
    struct process *process;
    int64_t unreported; /* allocated minus freed bytes that are not yet reported to the process */
    struct segment_header *segment;
    uint64_t segment_bytes; /* bytes of the segment, including its header */
    uint32_t columns;
    uint32_t depth; /* depth of the recorded sites, or 0 without sites */
    volatile sig_atomic_t busy; /* nonzero while records are written */
    struct codec codec;
    /* Events of signal handlers that occurred while the stream was busy, the oldest first. */
    struct event aside[ASIDE];
    volatile sig_atomic_t aside_count;
    uint32_t number;
    uint32_t thread; /* number of the thread that writes or has written last */
    struct trail trail;
    struct python_stack python;
    int farewells; /* number of recorded exits of the thread */
    uint64_t bytes;           /* bytes of all segments of the stream */
    struct stream *next_idle; /* link in the lists of struct process */
    struct stream *next_made;
};

/* Stream and number of a thread that has exited. `stream` is NULL if the thread has not exited. */
struct ended {
    struct stream *stream;
    uint32_t thread;
};

extern __thread struct stream *current;
extern __thread struct ended ended;
/* Number of the thread plus 1 if it ran when the recording began, or 0 to use the next free
 * number. */
extern __thread uint32_t number_at_start;

static inline uint8_t *records_of(struct segment_header *segment)
{
    return (uint8_t *)segment + sizeof *segment;
}

static always_inline void commit(struct stream *stream, uint8_t *end)
{
    stream->cursor = end;
    __atomic_store_n(&stream->segment->committed, (uint64_t)(end - records_of(stream->segment)),
                     __ATOMIC_RELEASE);
}

/* Returns the stream of this thread with space for an event, or NULL if events are not recorded. */
struct stream *ready_stream(void);

/* Returns a stream for the events of a thread after its exit, or NULL. The stream writes as that
 * thread. Pass it to lay_idle() afterwards. Signals must be blocked. */
struct stream *late_stream(void);

/* Makes a stream available to the next thread. Signals must be blocked. */
void lay_idle(struct stream *stream);

/* Records that the current thread, which owns this stream, has exited. */
void record_thread_end(void);

#endif
