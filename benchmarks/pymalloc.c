/* A preloaded library whose malloc is Python's own allocator on top of the C library's malloc. */
#include <Python.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *block);

static void *raw_malloc(void *context, size_t size)
{
    (void)context;
    return __libc_malloc(size);
}

static void *raw_calloc(void *context, size_t count, size_t size)
{
    (void)context;
    return __libc_calloc(count, size);
}

static void *raw_realloc(void *context, void *old, size_t size)
{
    (void)context;
    return __libc_realloc(old, size);
}

static void raw_free(void *context, void *block)
{
    (void)context;
    __libc_free(block);
}

static int is_ready; /* set after the raw allocator; Python calls malloc before that */

__attribute__((constructor)) static void begin(void)
{
    PyMemAllocatorEx raw = {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free};
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &raw);
    is_ready = 1;
}

void *malloc(size_t size)
{
    return is_ready ? PyObject_Malloc(size) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_ready ? PyObject_Calloc(count, size) : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_ready ? PyObject_Realloc(old, size) : __libc_realloc(old, size);
}

void free(void *block)
{
    if (is_ready)
        PyObject_Free(block);
    else
        __libc_free(block);
}
