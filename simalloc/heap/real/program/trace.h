/* A trace's columns, and their replay through the malloc of the process. */
#ifndef SIMALLOC_NATIVE_TRACE_H
#define SIMALLOC_NATIVE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../c/op.h"

/* The columns are adjacent in a mapped file. `objects` is shared memory, not the allocator's. */
struct trace {
    size_t events;
    size_t slots;
    uint32_t threads;         /* 1 without a column of threads */
    bool starts_threads;      /* true if the events lack the C library's requests */
    const int64_t *size;      /* bytes requested; 0 for a free */
    const int64_t *alignment; /* bytes, 0 or 1 if none; NULL if no event has one */
    const uint32_t *slot;     /* index in `objects`, below `slots` */
    const uint32_t *thread;   /* 0 is the process's own; NULL if the trace has one */
    const uint8_t *op;
    void **objects; /* by slot: the object, or NULL if none or if malloc(0) returned NULL */
};

/* Maps a file of columns, with every page present. `threads` and `aligns` state whether it has
 * columns of threads and of alignments. */
bool trace_map(struct trace *trace, int file, size_t events, size_t slots, uint32_t threads,
               bool aligns);

/* Executes one event. Returns false if the allocator has refused it. threads.c handles the ends of
 * threads, which are ignored here. */
bool trace_step(const struct trace *trace, size_t event, bool touch);

/* Executes the events from `begin` to before `end`. Returns `end`, or the refused event. */
size_t trace_run(const struct trace *trace, size_t begin, size_t end, bool touch);

/* Frees all live objects. */
void trace_clear(const struct trace *trace);

#endif
