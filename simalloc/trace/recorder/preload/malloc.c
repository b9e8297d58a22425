/* Functions that replace the allocator's functions in the program.
 *
 * A block is recorded as allocated after the allocator has returned it, and as freed before the
 * allocator receives it. Therefore no two threads ever appear to hold the same address. */
#include "malloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void *taken(size_t size, const void *caller)
{
    if (!next_is_known())
        return bootstrap_malloc(size);
    if (is_nested(caller))
        return next.malloc(size);
    const struct module *outer = enter(&next.module);
    void *address = next.malloc(size);
    inside = outer;
    if (address != NULL)
        record_malloc(address, size, 0, &next.module, caller);
    return address;
}

EXPORT void *malloc(size_t size)
{
    return taken(size, CALLER);
}

static inline void *cleared(size_t count, size_t size, const void *caller)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!next_is_known())
        return bootstrap_malloc(bytes);
    if (is_nested(caller))
        return next.calloc(count, size);
    const struct module *outer = enter(&next.module);
    void *address = next.calloc(count, size);
    inside = outer;
    if (address != NULL)
        record_calloc(address, bytes, &next.module, caller);
    return address;
}

EXPORT void *calloc(size_t count, size_t size)
{
    return cleared(count, size, CALLER);
}

inline void release(void *address, const void *caller)
{
    if (address == NULL || is_bootstrap(address) || !next_is_known())
        return;
    if (is_nested(caller)) {
        next.free(address);
        return;
    }
    record_free(address, &next.module);
    const struct module *outer = enter(&next.module);
    next.free(address);
    inside = outer;
}

EXPORT void free(void *address)
{
    release(address, CALLER);
}

static void *leave_bootstrap(const void *address, size_t size)
{
    size_t most = bootstrap_bytes_from(address);
    void *moved = malloc(size);
    if (moved != NULL)
        memcpy(moved, address, size < most ? size : most);
    return moved;
}

void *resize(void *address, size_t size, const void *caller)
{
    if (is_bootstrap(address))
        return leave_bootstrap(address, size);
    if (!next_is_known())
        return bootstrap_malloc(size);
    if (is_nested(caller))
        return next.realloc(address, size);
    if (address != NULL)
        begin_resizing(address, size, &next.module, caller);
    const struct module *outer = enter(&next.module);
    void *moved = next.realloc(address, size);
    inside = outer;
    if (address != NULL)
        end_resizing(address, size, moved, &next.module, caller);
    else if (moved != NULL)
        record_malloc(moved, size, 0, &next.module, caller);
    return moved;
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
    const struct module *outer = enter(&next.module);
    int status = next.posix_memalign(address, alignment, size);
    inside = outer;
    if (status == 0 && *address != NULL && !is_nested(CALLER))
        record_malloc(*address, size, alignment, &next.module, CALLER);
    return status;
}

/* Calls with an alignment are rare, so the code of this path is kept short rather than fast. */
#define ALIGNED(call, size, alignment, caller)                                                      \
    if (!next_is_known())                                                                           \
        return NULL;                                                                                \
    const struct module *outer = enter(&next.module);                                               \
    void *address = next.call;                                                                      \
    inside = outer;                                                                                 \
    if (address != NULL && !is_nested(caller))                                                      \
        record_malloc(address, size, alignment, &next.module, caller);                              \
    return address

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    ALIGNED(aligned_alloc(alignment, size), size, alignment, CALLER);
}

static void *aligned(size_t size, size_t alignment, const void *caller)
{
    ALIGNED(memalign(alignment, size), size, alignment, caller);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    return aligned(size, alignment, CALLER);
}

EXPORT void *valloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ALIGNED(valloc(size), size, page, CALLER);
}

/* The program may use all bytes of the pages that it gets. */
EXPORT void *pvalloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (size + page - 1) / page * page;
    ALIGNED(pvalloc(size), whole, page, CALLER);
}

void *take(size_t size, size_t alignment, bool zeroed, const void *caller)
{
    if (alignment == 0)
        return zeroed ? cleared(1, size, caller) : taken(size, caller);
    void *address = aligned(size, alignment, caller);
    if (zeroed && address != NULL)
        memset(address, 0, size);
    return address;
}
