/* An allocator for tests, called by the recorder. It never reuses memory and may be called from
 * signal handlers. Its addresses are multiples of 8 only. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static unsigned char arena[1 << 29];
static _Atomic size_t used;

static void *take(size_t size, size_t alignment)
{
    size_t most = (size + alignment + 15) & ~(size_t)7;
    size_t at = __atomic_fetch_add(&used, most, __ATOMIC_RELAXED);
    if (at + most > sizeof arena) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t address = ((uintptr_t)arena + at + 8 + alignment - 1) / alignment * alignment;
    ((size_t *)address)[-1] = size;
    return (void *)address;
}

void *malloc(size_t size)
{
    return take(size, 8);
}

void *calloc(size_t count, size_t size)
{
    return take(count * size, 8);
}

void free(void *address)
{
    (void)address;
}

void *realloc(void *address, size_t size)
{
    if (address != NULL && ((size_t *)address)[-1] >= size)
        return address;
    void *moved = take(size, 8);
    if (address != NULL && moved != NULL)
        memcpy(moved, address, ((size_t *)address)[-1]);
    return moved;
}

void *memalign(size_t alignment, size_t size)
{
    return take(size, alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return take(size, alignment);
}

int posix_memalign(void **address, size_t alignment, size_t size)
{
    *address = take(size, alignment);
    return *address == NULL ? ENOMEM : 0;
}

void *valloc(size_t size)
{
    return take(size, 4096);
}

void *pvalloc(size_t size)
{
    return take(size, 4096);
}
