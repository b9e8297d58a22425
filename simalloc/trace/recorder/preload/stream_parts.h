/* What managing streams (stream.c) and writing into them (record.c) have in common. */
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
    uint64_t segment_bytes; /* of it, its header among them */
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
    struct stream *next_idle; /* for the lists in struct process */
    struct stream *next_made;
};

/* What a thread wrote into before its end; NULL: it has not ended. */
struct ended {
    struct stream *stream;
    uint32_t thread;
};

extern __thread struct stream *current;
extern __thread struct ended ended;

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

/* The stream of this thread with room for an event, or NULL if none is recorded. */
struct stream *ready_stream(void);

/* A stream for what a thread does after its end, to be laid back; NULL: none. It writes as that
 * thread then. Signals must be blocked. */
struct stream *late_stream(void);

/* Gives a stream back, which the next thread may have. Signals must be blocked. */
void lay_idle(struct stream *stream);

/* Records that the thread of this stream, the current one, has ended. */
void record_thread_end(void);

#endif
