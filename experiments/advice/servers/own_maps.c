/* Logs the program's own mappings and unmappings, and its threads, to the file in
 * SIMALLOC_OWN_MAPS.
 *
 * A record is four 64-bit numbers. For a mapping or unmapping they are 1 (mapping) or 0
 * (unmapping), the address, the length, and the caller's address. The caller's address
 * distinguishes a malloc's calls from other calls. For a thread, the record begins with 2 and the
 * address of glibc's data on the thread, which is in the thread's stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int log_file = -1;

__attribute__((constructor)) static void start(void)
{
    const char *name = getenv("SIMALLOC_OWN_MAPS");
    if (name != NULL)
        log_file = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static void note(uint64_t kind, void *address, size_t length, void *caller)
{
    uint64_t record[] = {kind, (uint64_t)address, length, (uint64_t)caller};
    if (log_file >= 0 && write(log_file, record, sizeof record) < 0)
        log_file = -1;
}

void *mmap(void *address, size_t length, int rights, int flags, int file, off_t offset)
{
    void *got = (void *)syscall(SYS_mmap, address, length, rights, flags, file, offset);
    if (got != MAP_FAILED)
        note(1, got, length, __builtin_return_address(0));
    return got;
}

void *mmap64(void *address, size_t length, int rights, int flags, int file, off64_t offset)
{
    void *got = (void *)syscall(SYS_mmap, address, length, rights, flags, file, offset);
    if (got != MAP_FAILED)
        note(1, got, length, __builtin_return_address(0));
    return got;
}

int munmap(void *address, size_t length)
{
    note(0, address, length, __builtin_return_address(0));
    return (int)syscall(SYS_munmap, address, length);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    int failed = next(thread, attributes, start, argument);
    if (failed == 0)
        note(2, (void *)*thread, 0, NULL);
    return failed;
}
