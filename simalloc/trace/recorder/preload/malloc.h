/* Recording of an allocator call, for all functions of this library. */
#ifndef SIMALLOC_RECORDING_MALLOC_H
#define SIMALLOC_RECORDING_MALLOC_H

#include "next.h"
#include "sample.h"
#include "stream.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* Begins or ends a reallocation. In a sample, a reallocation is a free and an independently sampled
 * allocation. */
static inline void begin_resizing(const void *address, size_t size, const struct module *by,
                                  const void *caller)
{
    if (sample_every() != 0)
        record_free(address, by);
    else
        record_realloc_begin(address, size, by, caller);
}

static inline void end_resizing(const void *address, size_t size, const void *moved,
                                const struct module *by, const void *caller)
{
    if (sample_every() != 0) {
        if (moved != NULL)
            record_malloc(moved, size, 0, by, caller);
    } else if (moved != NULL) {
        record_realloc_end(moved == address ? SPECIAL_STAYED : SPECIAL_MOVED, moved, by);
    } else if (size == 0) {
        record_realloc_end(SPECIAL_RELEASED, NULL, by);
    } else {
        record_realloc_end(SPECIAL_FAILED, address, by);
    }
}

/* Standard allocator calls on behalf of `caller`. An alignment of 0 means none. */
void *take(size_t size, size_t alignment, bool zeroed, const void *caller);
void *resize(void *address, size_t size, const void *caller);
void release(void *address, const void *caller);

#endif
