/* Columns of a trace, and its replay through the malloc of the process. */
#ifndef SIMALLOC_NATIVE_TRACE_H
#define SIMALLOC_NATIVE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../c/op.h"

/* The columns are adjacent in a mapped file. `objects` is shared memory, not memory of the
 * allocator. */
struct trace {
    size_t events;
    size_t slots;
    uint32_t threads;         /* 1 if the trace has no column of threads */
    /* True if the trace lacks the C library's requests for starting threads. */
    bool starts_threads;
    const int64_t *size;      /* requested bytes; 0 for a free */
    /* Bytes, 0 or 1 without an alignment; NULL if no event has an alignment. */
    const int64_t *alignment;
    const uint32_t *slot;     /* index in `objects`, below `slots` */
    const uint32_t *thread;   /* 0 is the process's own thread; NULL if the trace has one thread */
    const uint8_t *op;
    void **objects; /* by slot: object, or NULL without an object or if malloc(0) returned NULL */
};

/* Maps a file of columns, with every page present. `threads` is more than 1 if the file has a
 * column of threads. `aligns` is true if it has a column of alignments. Returns false on
 * failure. */
bool trace_map(struct trace *trace, int file, size_t events, size_t slots, uint32_t threads,
               bool aligns);

/* Executes one event. Returns false if the allocator has refused it. Ends of threads are ignored
 * here, because threads.c handles them. */
bool trace_step(const struct trace *trace, size_t event, bool touch);

/* Executes the events in [begin, end). Returns `end`, or the refused event. */
size_t trace_run(const struct trace *trace, size_t begin, size_t end, bool touch);

/* Frees all live objects. */
void trace_clear(const struct trace *trace);

#endif
