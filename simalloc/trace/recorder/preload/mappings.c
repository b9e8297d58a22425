/* Memory that the program, its libraries or its language runtime map directly. Calls inside the C
 * library are not intercepted, so mappings by glibc for malloc, stacks and libraries are excluded.
 * Mappings by an allocator in a separate library are excluded too. */
#undef _FILE_OFFSET_BITS /* otherwise mmap would be a macro for mmap64 */
#include "mappings.h"

#include "malloc.h"
#include "process.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void *map(void *address, size_t bytes, int rights, int flags, int file, off_t offset);

static map *behind_mmap; /* the next functions in the loader's order; NULL before the look-up */
static int (*behind_munmap)(void *address, size_t bytes);
static void *(*behind_mremap)(void *address, size_t bytes, size_t new_bytes, int flags, ...);

__attribute__((constructor)) static void find(void)
{
    behind_mremap = (void *(*)(void *, size_t, size_t, int, ...))dlsym(RTLD_NEXT, "mremap");
    behind_munmap = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
    behind_mmap = (map *)dlsym(RTLD_NEXT, "mmap");
}

void *map_own(size_t bytes, int rights, int flags, int file, off_t offset)
{
    return (void *)syscall(SYS_mmap, NULL, bytes, rights, flags, file, offset);
}

void unmap_own(void *address, size_t bytes)
{
    syscall(SYS_munmap, address, bytes);
}

static bool is_of_allocator(const void *caller)
{
    return (uintptr_t)caller - next.module.start < next.module.length || is_nested(caller);
}

/* Returns the file that contains an address, or "" for the program itself, and stores the address's
 * offset in the file. */
static const char *file_of(const void *address, uint64_t *offset)
{
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found; /* found without a lock, because the program may hold any lock
                                  * here */
    if (_dl_find_object((void *)(uintptr_t)address, &found) == 0) {
        *offset = (uintptr_t)address - found.dlfo_link_map->l_addr;
        return found.dlfo_link_map->l_name;
    }
#endif
    *offset = (uintptr_t)address;
    return "?";
}

/* Records a mapping or, with a caller of NULL, the end of one. */
static void note(const void *address, size_t bytes, const void *caller)
{
    sigset_t all, before;
    int error = errno;
    if (process_stopped()) /* seccomp may forbid all further system calls */
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    struct mapping_record record = {
        .address = (uintptr_t)address, .bytes = bytes, .caller = (uintptr_t)caller};
    const char *path = caller == NULL ? "" : file_of(caller, &record.offset);
    process_add_mapping(&record, path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
}

static void note_mapping(const void *address, size_t bytes, int flags, const void *caller)
{
    if ((flags & MAP_ANONYMOUS) != 0)
        note(address, bytes, caller);
    else if ((flags & MAP_FIXED) != 0)
        note(address, bytes, NULL);
}

EXPORT void *mmap(void *address, size_t bytes, int rights, int flags, int file, off_t offset)
{
    void *got = behind_mmap != NULL
                    ? behind_mmap(address, bytes, rights, flags, file, offset)
                    : (void *)syscall(SYS_mmap, address, bytes, rights, flags, file, offset);
    if (got != MAP_FAILED && !is_of_allocator(CALLER))
        note_mapping(got, bytes, flags, CALLER);
    return got;
}

/* mmap64 is the same function as mmap on 64-bit machines. */
EXPORT void *mmap64(void *address, size_t bytes, int rights, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

/* An unmapping is recorded before the call, because another thread may get the addresses
 * immediately after it. */
EXPORT int munmap(void *address, size_t bytes)
{
    if (!is_of_allocator(CALLER))
        note(address, bytes, NULL);
    return behind_munmap != NULL ? behind_munmap(address, bytes)
                                 : (int)syscall(SYS_munmap, address, bytes);
}

EXPORT void *mremap(void *address, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void *) : NULL;
    va_end(rest);
    bool is_noted = !is_of_allocator(CALLER);
    if (is_noted)
        note(address, bytes, NULL);
    void *got = behind_mremap != NULL
                    ? behind_mremap(address, bytes, new_bytes, flags, wanted)
                    : (void *)syscall(SYS_mremap, address, bytes, new_bytes, flags, wanted);
    if (is_noted && got != MAP_FAILED)
        note(got, new_bytes, CALLER);
    else if (is_noted)
        note(address, bytes, CALLER);
    return got;
}
