#include "beyond.h"

#include "elf_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

/* A library that was loaded by dlopen finds our functions first. Its own libraries do not follow
 * ours in the loader's order, so the search starts at the calling library. */
static void *found_from(const void *caller, const char *name, void *own)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *handle, *found = NULL;
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        (handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)) == NULL)
        return NULL;
    found = dlsym(handle, name);
    if (found != NULL && dladdr(found, &info) != 0) { /* prevents unloading */
        void *kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (kept != NULL)
            dlclose(kept);
    }
    dlclose(handle);
    return found == own ? NULL : found;
}

struct library {
    const void *function;
    bool has_malloc;
};

static int look_for_malloc(struct dl_phdr_info *info, size_t size, void *of)
{
    static const char *const names[] = {"malloc", "mallocx", "tc_malloc", "mi_malloc"};
    struct library *library = of;
    struct elf_object object;
    uint32_t number;
    (void)size;
    if (!elf_object_of(info, &object) || !elf_object_has(&object, library->function))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library->has_malloc; i++)
        library->has_malloc = elf_object_symbol(&object, names[i], &number) != NULL;
    return 1;
}

/* Returns whether the library of a C++ operator is an allocator. An operator of another library,
 * such as libstdc++, calls the process's malloc. The loader's own search allocates, so it cannot be
 * used here: an allocator may call the operator while it holds up the loader. */
static bool is_of_allocator(const void *function)
{
    struct library library = {.function = function};
    dl_iterate_phdr(look_for_malloc, &library);
    return library.has_malloc;
}

enum beyond_way beyond_find(struct beyond *beyond, const void *caller, void (*own)(void))
{
    int error = errno;
    if (!next_is_known())
        return BEYOND_MISSING;
    void *found = function_behind(beyond->symbol);
    if (found == NULL && !is_late)
        found = found_from(caller, beyond->symbol, (void *)(uintptr_t)own);
    enum beyond_way way = BEYOND_MISSING;
    if (found != NULL) {
        beyond->function = (void (*)(void))found;
        beyond->module = allocator_with(found);
        bool passes = beyond->is_operator && !is_of_allocator(found);
        way = passes ? BEYOND_PASSED : BEYOND_OWN;
    }
    __atomic_store_n(&beyond->way, way, __ATOMIC_RELEASE);
    errno = error;
    return way;
}
