/* Detects that a program unloads libraries. Their addresses may soon belong to another library. */
#include "next.h"
#include "stack.h"

#include <link.h>

static uint32_t epoch;

uint32_t stack_epoch(void)
{
    return __atomic_load_n(&epoch, __ATOMIC_RELAXED);
}

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_subs;
    return 1;
}

static unsigned long long unloaded(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(count_unloaded, &count);
    return count;
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*next_dlclose)(void *);
    if (next_dlclose == NULL)
        next_dlclose = (int (*)(void *))function_behind("dlclose");
    unsigned long long before = unloaded();
    int status = next_dlclose(handle);
    if (unloaded() != before)
        __atomic_add_fetch(&epoch, 1, __ATOMIC_RELAXED);
    return status;
}
