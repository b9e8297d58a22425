#include "beyond.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

/* A library that was loaded by dlopen finds our functions first, but its own libraries are not
 * behind us in the loader's order: they are found from there. */
static void *found_from(const void *caller, const char *name, void *own)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *handle, *found = NULL;
    if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        (handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)) == NULL)
        return NULL;
    found = dlsym(handle, name);
    if (found != NULL && dladdr(found, &info) != 0) { /* it must not be unloaded any more */
        void *kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (kept != NULL)
            dlclose(kept);
    }
    dlclose(handle);
    return found == own ? NULL : found;
}

static bool is_in(struct module module, const void *address)
{
    return (uintptr_t)address - module.start < module.length;
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
        beyond->module = module_with(found);
        way = beyond->is_operator && !is_in(next.module, found) ? BEYOND_PASSED : BEYOND_OWN;
    }
    __atomic_store_n(&beyond->way, way, __ATOMIC_RELEASE);
    errno = error;
    return way;
}
