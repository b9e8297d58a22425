/* Intercepts calls between the recorder and the C library. It lets other threads run after a block
 * has been freed but before free returns; the recorder must handle this case. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

void free(void *address)
{
    static void (*next)(void *);
    if (next == NULL)
        next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next(address);
    sched_yield();
}

void *realloc(void *address, size_t size)
{
    static void *(*next)(void *, size_t);
    if (next == NULL)
        next = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    void *moved = next(address, size);
    sched_yield();
    return moved;
}
