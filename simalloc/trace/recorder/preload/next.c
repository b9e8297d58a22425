#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

enum { BOOTSTRAP_BYTES = 64 << 10, BOOTSTRAP_ALIGNMENT = 16 };

static _Alignas(BOOTSTRAP_ALIGNMENT) unsigned char bootstrap[BOOTSTRAP_BYTES];
static size_t bootstrap_used; /* a multiple of BOOTSTRAP_ALIGNMENT */

struct allocator next;

bool is_bootstrap(const void *address)
{
    return (uintptr_t)address - (uintptr_t)bootstrap < BOOTSTRAP_BYTES;
}

size_t bootstrap_bytes_from(const void *address)
{
    return BOOTSTRAP_BYTES - ((uintptr_t)address - (uintptr_t)bootstrap);
}

void *bootstrap_malloc(size_t size)
{
    if (size > BOOTSTRAP_BYTES - bootstrap_used - BOOTSTRAP_ALIGNMENT) {
        errno = ENOMEM;
        return NULL;
    }
    void *address = bootstrap + bootstrap_used;
    bootstrap_used += (size + BOOTSTRAP_ALIGNMENT - 1) & ~(size_t)(BOOTSTRAP_ALIGNMENT - 1);
    return address;
}

static void *found(const char *name)
{
    static const char complaint[] = "simalloc: this program has no allocator to record\n";
    void *address = dlsym(RTLD_NEXT, name);
    if (address == NULL) {
        ssize_t written = write(STDERR_FILENO, complaint, sizeof complaint - 1);
        (void)written;
        _exit(127);
    }
    return address;
}

/* An allocator may lack malloc_usable_size; another's cannot tell the size of its blocks. */
static size_t (*usable_size_of(void *allocate))(void *)
{
    void *found = dlsym(RTLD_NEXT, "malloc_usable_size");
    Dl_info one, other;
    bool same = found != NULL && dladdr(found, &one) != 0 && dladdr(allocate, &other) != 0 &&
                one.dli_fbase == other.dli_fbase;
    return same ? (size_t (*)(void *))found : NULL;
}

/* The first allocation of a program comes before its second thread. */
bool ask_for_next(void)
{
    static bool asking;
    if (asking)
        return false;
    asking = true;
    void *allocate = found("malloc");
    next = (struct allocator){
        .calloc = (void *(*)(size_t, size_t))found("calloc"),
        .realloc = (void *(*)(void *, size_t))found("realloc"),
        .free = (void (*)(void *))found("free"),
        .posix_memalign = (int (*)(void **, size_t, size_t))found("posix_memalign"),
        .aligned_alloc = (void *(*)(size_t, size_t))found("aligned_alloc"),
        .memalign = (void *(*)(size_t, size_t))found("memalign"),
        .valloc = (void *(*)(size_t))found("valloc"),
        .pvalloc = (void *(*)(size_t))found("pvalloc"),
        .usable_size = usable_size_of(allocate),
        .malloc = (void *(*)(size_t))allocate,
    };
    return true;
}
