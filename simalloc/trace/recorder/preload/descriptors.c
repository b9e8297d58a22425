#include "descriptors.h"

#include "malloc.h"
#include "process.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int close_own(int descriptor)
{
    return (int)syscall(SYS_close, descriptor);
}

static int (*behind)(int); /* the next close() in the loader's order */

void find_close(void)
{
    behind = (int (*)(int))function_behind("close");
}

__attribute__((constructor)) static void find_early(void)
{
    find_close();
}

/* The recorder's descriptors appear closed to the program. */
EXPORT int close(int descriptor)
{
    if (descriptor >= 0 && process_owns(descriptor)) {
        errno = EBADF;
        return -1;
    }
    return behind != NULL ? behind(descriptor) : close_own(descriptor);
}

/* Closes the descriptors between our own ones, in ascending order. */
static int between_own(unsigned first, unsigned last, int flags)
{
    while (first <= last) {
        unsigned own = last;
        bool found = false;
        for (size_t i = 0; i < OWN_DESCRIPTORS; i++) {
            int descriptor = process_descriptor(i);
            if (process_owns(descriptor) && (unsigned)descriptor >= first &&
                (unsigned)descriptor <= own) {
                own = (unsigned)descriptor;
                found = true;
            }
        }
        unsigned end = found ? own - 1 : last;
        if ((!found || own > first) && syscall(SYS_close_range, first, end, flags) != 0)
            return -1;
        if (!found || own == last)
            break;
        first = own + 1;
    }
    return 0;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    if (first > last) {
        errno = EINVAL;
        return -1;
    }
    return between_own(first, last, flags);
}

EXPORT void closefrom(int first)
{
    unsigned from = first < 0 ? 0 : (unsigned)first;
    if (between_own(from, ~0U, 0) == 0)
        return;
    for (long descriptor = sysconf(_SC_OPEN_MAX); descriptor-- > (long)from;)
        close((int)descriptor);
}
