#include "bounds.h"

#include "next.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_stack_end; /* where the loader found the first thread's stack */

/* The thread's own stack, from `low` to `top`, stays mapped as long as the thread lives. Another
 * stack that it runs on, as a coroutine or a signal handler, is never here: it may be unmapped. */
static __thread struct {
    uintptr_t low, top;
    bool grows; /* of the first thread, which has no known lowest address */
} known;

static uintptr_t page_bytes(void)
{
    static uintptr_t bytes;
    if (bytes == 0)
        bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

/* Whether memory is mapped, and if `resident` also readable: a guard page is never resident. */
static bool is_mapped(uintptr_t first, uintptr_t end, bool resident)
{
    enum { AT_ONCE = 512 };
    unsigned char pages[AT_ONCE];
    uintptr_t page = page_bytes();
    for (uintptr_t count; first < end; first += count * page) {
        count = (end - first) / page < AT_ONCE ? (end - first) / page : AT_ONCE;
        if (mincore((void *)first, count * page, pages) != 0)
            return false;
        for (uintptr_t i = 0; resident && i < count; i++)
            if ((pages[i] & 1) == 0)
                return false;
    }
    return true;
}

void stack_find_bounds(void)
{
    static const struct module everything = {0, SIZE_MAX};
    pthread_attr_t attributes;
    void *low;
    size_t size, guard;
    if (known.top != 0)
        return;
    if (getpid() == gettid()) {
        known.low = (uintptr_t)__libc_stack_end / page_bytes() * page_bytes();
        known.top = known.low + page_bytes();
        known.grows = true;
        return;
    }
    const struct module *outer = inside;
    inside = &everything; /* it allocates, which is not the program's doing */
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0 &&
            pthread_attr_getguardsize(&attributes, &guard) == 0 && guard < size) {
            known.low = (uintptr_t)low + guard;
            known.top = (uintptr_t)low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    inside = outer;
}

/* The kernel keeps a gap below the first thread's stack, so what is mapped up to it belongs to it. */
static bool grow_to(uintptr_t sp)
{
    enum { MOST = 64 << 20 };
    uintptr_t low = sp / page_bytes() * page_bytes();
    if (!known.grows || low >= known.low || known.low - low > MOST ||
        !is_mapped(low, known.low, false))
        return false;
    known.low = low;
    return true;
}

bool stack_is_readable(uintptr_t sp, uintptr_t address)
{
    uintptr_t page = page_bytes(), last = address + 2 * sizeof(uintptr_t) - 1;
    if (sp < known.top && last < known.top && (sp >= known.low || grow_to(sp)))
        return true;
    return is_mapped(address / page * page, last / page * page + page, true);
}
