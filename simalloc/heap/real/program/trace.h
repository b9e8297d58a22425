/* A trace's columns, and carrying them out through whatever malloc the process has. */
#ifndef SIMALLOC_NATIVE_TRACE_H
#define SIMALLOC_NATIVE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../native/op.h"

/* The columns lie one after the other in a mapped file; `objects` is shared memory, which is not
 * counted with what the allocator has. */
struct trace {
    size_t events;
    size_t slots;
    const int64_t *size;  /* bytes requested; 0 for a free */
    const uint32_t *slot; /* which of `objects`; below `slots` */
    const uint8_t *op;
    void **objects; /* NULL: no object in this slot, or one of 0 bytes that malloc gave no block */
};

/* Maps a file of `events` sizes, slots and ops, every page present before it returns. */
bool trace_map(struct trace *trace, int file, size_t events, size_t slots);

/* Carries out one event; false if the allocator has refused it. */
bool trace_step(const struct trace *trace, size_t event, bool touch);

/* Carries out all events and returns how many the allocator granted. */
size_t trace_pass(const struct trace *trace, bool touch);

/* Frees what is still live. */
void trace_clear(const struct trace *trace);

#endif
