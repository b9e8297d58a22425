/* A trace's columns, and carrying them out through whatever malloc the process has. */
#ifndef SIMALLOC_NATIVE_TRACE_H
#define SIMALLOC_NATIVE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../c/op.h"

/* The columns lie one after the other in a mapped file; `objects` is shared memory, which is not
 * counted with what the allocator has. */
struct trace {
    size_t events;
    size_t slots;
    uint32_t threads;         /* 1, or more if there is a column of threads */
    bool starts_threads;      /* what the C library asks for to start them is not among the events */
    const int64_t *size;      /* bytes requested; 0 for a free */
    const int64_t *alignment; /* bytes; 0 or 1: none; NULL: no event asks for one */
    const uint32_t *slot;     /* which of `objects`; below `slots` */
    const uint32_t *thread;   /* 0 is the process's own; NULL: all events are of one thread */
    const uint8_t *op;
    void **objects; /* NULL: no object in this slot, or one of 0 bytes that malloc gave no block */
};

/* Maps a file of columns, every page present before it returns; `threads` and `aligns` say whether
 * it has those of threads and of alignments. */
bool trace_map(struct trace *trace, int file, size_t events, size_t slots, uint32_t threads,
               bool aligns);

/* Carries out one event; false if the allocator has refused it. What threads are asked to do is done
 * in threads.c; here the end of one is no event. */
bool trace_step(const struct trace *trace, size_t event, bool touch);

/* Carries out the events from `begin` to before `end`; returns where it stopped: at `end`, or at the
 * event that the allocator has refused. */
size_t trace_run(const struct trace *trace, size_t begin, size_t end, bool touch);

/* Frees what is still live. */
void trace_clear(const struct trace *trace);

#endif
