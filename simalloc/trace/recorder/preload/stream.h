/* The records of one thread, which are written directly into the recording. */
#ifndef SIMALLOC_RECORDING_STREAM_H
#define SIMALLOC_RECORDING_STREAM_H

#include "codec.h"

#include <stddef.h>

struct module;

/* Records a block that the library `by` has allocated. `caller` is the return address of the call.
 */
void record_malloc(const void *address, size_t size, size_t alignment, const struct module *by,
                   const void *caller);
void record_calloc(const void *address, size_t size, const struct module *by, const void *caller);

/* Records that a block of the library `by` is about to be freed. */
void record_free(const void *address, const struct module *by);

/* Record that a block is about to be reallocated, and then the result with the new address:
 * SPECIAL_STAYED, SPECIAL_MOVED, SPECIAL_FAILED, or SPECIAL_RELEASED (NULL). After the begin,
 * another thread may receive the old address. Until the end, another thread may still hold the new
 * address. */
void record_realloc_begin(const void *address, size_t size, const struct module *by,
                          const void *caller);
void record_realloc_end(enum special what, const void *address, const struct module *by);

/* Stops this thread from writing after the end of the recording. */
void stream_end(void);

/* Frees the memory of all streams of a process. No other thread may run. */
struct process;
void stream_release_all(struct process *process);

struct stream;
struct python_stack;

/* Returns the Python functions of this thread, or NULL if call paths are not recorded. */
struct python_stack *stream_python(void);

/* Space for descriptions before an event. stream_room() returns the place for up to SITE_BYTES
 * bytes, or NULL if nothing can be written. stream_commit() commits the bytes up to `end`. */
uint8_t *stream_room(struct stream *stream);
void stream_commit(struct stream *stream, uint8_t *end);

#endif
