#include "next.h"

#include "takeover.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <unistd.h>

enum { BOOTSTRAP_BYTES = 64 << 10, BOOTSTRAP_ALIGNMENT = 16 };

static _Alignas(BOOTSTRAP_ALIGNMENT) unsigned char bootstrap[BOOTSTRAP_BYTES];
static size_t bootstrap_used; /* a multiple of BOOTSTRAP_ALIGNMENT */

struct allocator next;
bool is_late;
__thread const struct module *inside;
__thread volatile sig_atomic_t uses;

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

void *function_behind(const char *name)
{
    return is_late ? takeover_original(name) : dlsym(RTLD_NEXT, name);
}

static void *found(const char *name)
{
    static const char complaint[] = "simalloc: this program has no allocator that can be "
                                    "recorded\n";
    void *address = function_behind(name);
    if (address == NULL && !is_late) {
        ssize_t written = write(STDERR_FILENO, complaint, sizeof complaint - 1);
        (void)written;
        _exit(127);
    }
    return address;
}

/* Returns the allocator's own malloc_usable_size, or NULL. The function of another library does not
 * know this allocator's blocks. */
static size_t (*usable_size_of(void *allocate))(void *)
{
    void *found = function_behind("malloc_usable_size");
    Dl_info one, other;
    bool same = found != NULL && dladdr(found, &one) != 0 && dladdr(allocate, &other) != 0 &&
                one.dli_fbase == other.dli_fbase;
    return same ? (size_t (*)(void *))found : NULL;
}

struct search {
    uintptr_t address;
    struct module found;
};

static int find_in(struct dl_phdr_info *info, size_t size, void *of)
{
    struct search *search = of;
    struct module found = {UINTPTR_MAX, 0};
    uintptr_t end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        found.start = start < found.start ? start : found.start;
        end = start + part->p_memsz > end ? start + part->p_memsz : end;
    }
    found.length = end > found.start ? end - found.start : 0;
    if (search->address - found.start >= found.length)
        return 0;
    search->found = found;
    return 1;
}

struct module module_with(const void *address)
{
    struct search search = {.address = (uintptr_t)address};
    dl_iterate_phdr(find_in, &search);
    return search.found;
}

struct module allocator_with(void *function)
{
    Dl_info of_function, of_libc;
    bool is_libc = dladdr(function, &of_function) != 0 &&
                   dladdr((void *)(uintptr_t)gnu_get_libc_version, &of_libc) != 0 &&
                   of_function.dli_fbase == of_libc.dli_fbase;
    return is_libc ? (struct module){0} : module_with(function);
}

/* A program allocates before it starts its second thread, so `asking` needs no lock. */
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
        .module = allocator_with(allocate),
        .recorder = module_with(&next),
        .malloc = (void *(*)(size_t))allocate,
    };
    return true;
}
