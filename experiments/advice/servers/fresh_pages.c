/* Returns the pages of each block of 32 KiB to 1 MiB to the system before the program gets the
 * block. A recording then contains exactly the pages that the program writes, even in memory that an
 * earlier block has written:
 *
 *     cc -O1 -shared -fPIC -fno-builtin -o fresh_pages.so fresh_pages.c -ldl
 *     LD_PRELOAD=$PWD/fresh_pages.so simalloc record -o exact.npz -- ./program
 *
 * Each written page causes another page fault, which makes the method too slow as the default. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, LEAST = 32 << 10, MOST = 1 << 20 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *address, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *address);

void *malloc(size_t size)
{
    char *address = __libc_malloc(size);
    uintptr_t first = ((uintptr_t)address + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)address + size) / PAGE * PAGE;
    if (address != NULL && size >= LEAST && size <= MOST && first < end)
        madvise((void *)first, end - first, MADV_DONTNEED);
    return address;
}

void *calloc(size_t count, size_t size)
{
    return __libc_calloc(count, size);
}

void *realloc(void *address, size_t size)
{
    return __libc_realloc(address, size);
}

void free(void *address)
{
    __libc_free(address);
}

void *memalign(size_t alignment, size_t size)
{
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **address, size_t alignment, size_t size)
{
    *address = __libc_memalign(alignment, size);
    return *address != NULL ? 0 : ENOMEM;
}

void *valloc(size_t size)
{
    return __libc_memalign(PAGE, size);
}

void *pvalloc(size_t size)
{
    return __libc_memalign(PAGE, (size + PAGE - 1) / PAGE * PAGE);
}

size_t malloc_usable_size(void *address)
{
    static size_t (*next)(void *address);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(address);
}
