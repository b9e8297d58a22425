/* The records of one thread, written into the recording itself. */
#ifndef SIMALLOC_RECORDING_STREAM_H
#define SIMALLOC_RECORDING_STREAM_H

#include "codec.h"

#include <stddef.h>

/* Records a block that the program has got. `caller` is where it asked for it. */
void record_malloc(const void *address, size_t size, size_t alignment, const void *caller);
void record_calloc(const void *address, size_t size, const void *caller);

/* Records that a block is about to be freed. */
void record_free(const void *address);

/* Records that a block is about to be reallocated, and what became of it, with where it is then:
 * SPECIAL_STAYED, SPECIAL_MOVED, SPECIAL_FAILED, or SPECIAL_RELEASED (NULL). Once it has begun,
 * another thread may get the old address; until it ends, another may still hold the new one. */
void record_realloc_begin(const void *address, size_t size, const void *caller);
void record_realloc_end(enum special what, const void *address);

/* Has this thread write nothing more, now that the recording has ended. */
void stream_end(void);

/* Gives back the memory of all streams of a process. No other thread may run. */
struct process;
void stream_release_all(struct process *process);

struct stream;
struct python_stack;

/* The Python functions that this thread is in, or NULL if call paths are not recorded. */
struct python_stack *stream_python(void);

/* For what is described before an event: where to write, with room for SITE_BYTES, or NULL if
 * nothing can be written; and that it has been written up to `end`. */
uint8_t *stream_room(struct stream *stream);
void stream_commit(struct stream *stream, uint8_t *end);

#endif
