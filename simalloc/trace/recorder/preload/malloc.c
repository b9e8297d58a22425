/* The functions that the program calls instead of its allocator's.
 *
 * A block is recorded as taken after the allocator has given it out and as released before the
 * allocator gets it back. So no two threads are ever seen to hold the same address. */
#include "next.h"
#include "sample.h"
#include "stream.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

EXPORT void *malloc(size_t size)
{
    if (!next_is_known())
        return bootstrap_malloc(size);
    void *address = next.malloc(size);
    if (address != NULL)
        record_malloc(address, size, 0, CALLER);
    return address;
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!next_is_known())
        return bootstrap_malloc(bytes);
    void *address = next.calloc(count, size);
    if (address != NULL)
        record_calloc(address, bytes, CALLER);
    return address;
}

EXPORT void free(void *address)
{
    if (address == NULL || is_bootstrap(address) || !next_is_known())
        return;
    record_free(address);
    next.free(address);
}

/* In a sample, a realloc frees one block and allocates another, which has a chance of its own. */
static void *reallocated_in_sample(void *address, size_t size, const void *caller)
{
    record_free(address);
    void *moved = next.realloc(address, size);
    if (moved != NULL)
        record_malloc(moved, size, 0, caller);
    return moved;
}

static void *reallocated(void *address, size_t size, const void *caller)
{
    if (sample_every() != 0)
        return reallocated_in_sample(address, size, caller);
    record_realloc_begin(address, size, caller);
    void *moved = next.realloc(address, size);
    if (moved != NULL)
        record_realloc_end(moved == address ? SPECIAL_STAYED : SPECIAL_MOVED, moved);
    else if (size == 0)
        record_realloc_end(SPECIAL_RELEASED, NULL);
    else
        record_realloc_end(SPECIAL_FAILED, address);
    return moved;
}

static void *leave_bootstrap(const void *address, size_t size)
{
    size_t most = bootstrap_bytes_from(address);
    void *moved = malloc(size);
    if (moved != NULL)
        memcpy(moved, address, size < most ? size : most);
    return moved;
}

static void *resize(void *address, size_t size, const void *caller)
{
    if (is_bootstrap(address))
        return leave_bootstrap(address, size);
    if (!next_is_known())
        return bootstrap_malloc(size);
    if (address != NULL)
        return reallocated(address, size, caller);
    void *fresh = next.realloc(NULL, size);
    if (fresh != NULL)
        record_malloc(fresh, size, 0, caller);
    return fresh;
}

EXPORT void *realloc(void *address, size_t size)
{
    return resize(address, size, CALLER);
}

EXPORT void *reallocarray(void *address, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(address, bytes, CALLER);
}

EXPORT int posix_memalign(void **address, size_t alignment, size_t size)
{
    if (!next_is_known())
        return ENOMEM;
    int status = next.posix_memalign(address, alignment, size);
    if (status == 0 && *address != NULL)
        record_malloc(*address, size, alignment, CALLER);
    return status;
}

static void *aligned(void *address, size_t size, size_t alignment, const void *caller)
{
    if (address != NULL)
        record_malloc(address, size, alignment, caller);
    return address;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return next_is_known() ? aligned(next.aligned_alloc(alignment, size), size, alignment, CALLER)
                           : NULL;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    return next_is_known() ? aligned(next.memalign(alignment, size), size, alignment, CALLER)
                           : NULL;
}

EXPORT void *valloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return next_is_known() ? aligned(next.valloc(size), size, page, CALLER) : NULL;
}

/* The program may use the whole of the pages that it gets. */
EXPORT void *pvalloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + page - 1) / page * page;
    return next_is_known() ? aligned(next.pvalloc(size), whole, page, CALLER) : NULL;
}
