#include "bounds.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_stack_end; /* the first thread's stack, from the loader */

/* The thread's own stack, from `low` to `top`, stays mapped until the thread exits. Any other stack
 * that the thread runs on, such as a coroutine's or a signal handler's, may be unmapped, so it is
 * never stored here. */
static __thread struct {
    uintptr_t low, top;
    bool is_first;     /* true for the first thread: the kernel keeps a gap below its stack */
    uintptr_t refused; /* a page down to which the known stack could not be extended */
} known;

static uintptr_t page_bytes(void)
{
    static uintptr_t bytes;
    if (bytes == 0)
        bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

/* Returns whether memory is mapped and, if `resident`, also readable: a guard page is never
 * resident. */
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

/* The C library stores a thread's data above its stack in the same mapping, except for the first
 * thread. Its pthread_getattr_np() returns more exact bounds, but it may call the function that
 * calls us. */
void stack_find_bounds(void)
{
    if (known.top != 0)
        return;
    known.is_first = getpid() == gettid();
    known.top = known.is_first ? (uintptr_t)__libc_stack_end : (uintptr_t)&known;
    known.low = known.top / page_bytes() * page_bytes();
    if (known.is_first)
        known.top = known.low + page_bytes();
}

/* Extends the known stack down to the stack pointer. A guard page and another stack may follow
 * below the stack of a thread other than the first. Therefore all pages must be resident for such a
 * thread. */
static bool grow_to(uintptr_t sp)
{
    enum { MOST = 64 << 20 };
    uintptr_t low = sp / page_bytes() * page_bytes();
    if (low >= known.low || known.low - low > MOST || low == known.refused)
        return false;
    if (!is_mapped(low, known.low, !known.is_first)) {
        known.refused = low;
        return false;
    }
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
