#include "allocator.h"

#include <string.h>

/* Returns a symbol of the next library, because this program defines two such symbols itself. */
static void *found(const char *function)
{
    return dlsym(RTLD_NEXT, function);
}

struct allocator allocator;

static Dl_info library_of(const char *function)
{
    Dl_info library = {0};
    void *address = found(function);
    if (address != NULL)
        dladdr(address, &library);
    return library;
}

/* Returns a function only if it is in the library of malloc, because the C library has all the
 * other functions too. */
static void *beside_malloc(const char *function)
{
    return library_of(function).dli_fbase == library_of("malloc").dli_fbase ? found(function)
                                                                            : NULL;
}

/* Implements calloc for a library with malloc but without calloc. The calloc of the next library
 * would belong to another allocator. */
static void *zeroed(size_t count, size_t size)
{
    void *block = allocator.malloc(count * size);
    return block == NULL ? NULL : memset(block, 0, count * size);
}

/* Functions that return memory to the system, and glibc's statistics (mallinfo2(3), since 2.33,
 * with its names of the fields). They are weak symbols, so that the linker finds them. dlsym would
 * allocate the text of its error for each missing function in the measured heap. */
struct account {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

#define WEAK __attribute__((weak))
extern WEAK int mallctl(const char *, void *, size_t *, void *, size_t); /* jemalloc */
extern WEAK void mi_collect(bool);                                       /* mimalloc */
extern WEAK void MallocExtension_ReleaseFreeMemory(void);                /* tcmalloc */
extern WEAK int malloc_trim(size_t);                                     /* glibc */
extern WEAK int mallopt(int, int);                                       /* Scudo */
extern WEAK struct account mallinfo2(void);                              /* glibc */

static bool is_glibc, is_scudo;

bool allocator_find(Dl_info *library, bool *is_system)
{
    *library = library_of("malloc");
    *is_system = library->dli_fbase == library_of("getpid").dli_fbase;
    allocator.malloc = (typeof(allocator.malloc))found("malloc");
    allocator.calloc = (typeof(allocator.calloc))beside_malloc("calloc");
    if (allocator.calloc == NULL)
        allocator.calloc = zeroed;
    allocator.realloc = (typeof(allocator.realloc))found("realloc");
    allocator.free = (typeof(allocator.free))found("free");
    allocator.memalign = (typeof(allocator.memalign))beside_malloc("memalign");
    is_glibc = *is_system && malloc_trim != NULL;
    is_scudo = !*is_system && mallopt != NULL && beside_malloc("mallopt") != NULL;
    return library->dli_fname != NULL;
}

void allocator_give_back(void)
{
    enum { SCUDO_PURGE = -101 };
    if (mallctl != NULL)
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0); /* 4096 means all arenas */
    else if (mi_collect != NULL)
        mi_collect(true);
    else if (MallocExtension_ReleaseFreeMemory != NULL)
        MallocExtension_ReleaseFreeMemory();
    else if (is_scudo)
        mallopt(SCUDO_PURGE, 0);
    else if (is_glibc)
        malloc_trim(0);
}

int64_t allocator_mapped(void)
{
    if (!is_glibc || mallinfo2 == NULL)
        return -1;
    struct account account = mallinfo2();
    return (int64_t)(account.arena + account.hblkhd); /* all arenas and mapped blocks */
}
