#include "attach.h"

#include "descriptors.h"
#include "malloc.h"
#include "process.h"
#include "stream_parts.h"
#include "takeover.h"

#include <errno.h>

static bool has_allocator(void)
{
    return next_is_known() && next.calloc != NULL && next.realloc != NULL && next.free != NULL &&
           next.posix_memalign != NULL && next.aligned_alloc != NULL && next.memalign != NULL &&
           next.valloc != NULL && next.pvalloc != NULL;
}

EXPORT int simalloc_attach(const struct late_request *request)
{
    if (!is_late) {
        is_late = true;
        find_close();
    }
    if (!has_allocator())
        return ENOSYS;
    int error = process_begin_late(request);
    if (error == 0)
        error = takeover_begin();
    if (error != 0) {
        simalloc_detach();
        simalloc_end(NULL, 0);
    }
    return error;
}

/* A variable of this library has the same distance from the thread pointer in every thread. */
static void *in_thread(uintptr_t thread, void *own)
{
    return (void *)(thread + (uintptr_t)own - (uintptr_t)__builtin_thread_pointer());
}

EXPORT void simalloc_begin(const uintptr_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (threads[i] != 0)
            *(uint32_t *)in_thread(threads[i], &number_at_start) = (uint32_t)i + 1;
    process_open((uint32_t)count);
}

EXPORT void simalloc_detach(void)
{
    takeover_end();
}

EXPORT int simalloc_end(const uintptr_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (*(volatile sig_atomic_t *)in_thread(threads[i], (void *)(uintptr_t)&uses) != 0)
            return EBUSY;
    for (size_t i = 0; i < count; i++) {
        *(struct stream **)in_thread(threads[i], &current) = NULL;
        *(uint32_t *)in_thread(threads[i], &number_at_start) = 0;
        *(struct ended *)in_thread(threads[i], &ended) = (struct ended){0};
        *(const struct module **)in_thread(threads[i], &inside) = NULL;
    }
    process_end_late();
    return 0;
}
