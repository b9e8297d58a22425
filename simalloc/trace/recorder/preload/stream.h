/* The records of one thread, written into the recording itself. */
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

/* Record that a block is about to be reallocated, and the result with the new address:
 * SPECIAL_STAYED, SPECIAL_MOVED, SPECIAL_FAILED, or SPECIAL_RELEASED (NULL). After the begin,
 * another thread may get the old address; until the end, another thread may still hold the new
 * one. */
void record_realloc_begin(const void *address, size_t size, const struct module *by,
                          const void *caller);
void record_realloc_end(enum special what, const void *address, const struct module *by);

/* Ends the writing of this thread after the end of the recording. */
void stream_end(void);

/* Frees the memory of all streams of a process. No other thread may run. */
struct process;
void stream_release_all(struct process *process);

struct stream;
struct python_stack;

/* Returns the Python functions of this thread, or NULL if call paths are not recorded. */
struct python_stack *stream_python(void);

/* For descriptions before an event: the first returns the place to write SITE_BYTES to, or NULL if
 * nothing can be written. The second commits the bytes up to `end`. */
uint8_t *stream_room(struct stream *stream);
void stream_commit(struct stream *stream, uint8_t *end);

#endif
