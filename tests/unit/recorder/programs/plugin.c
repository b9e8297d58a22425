/* A library that is loaded at run time and allocates, also in its constructor. */
#include <stdlib.h>

#ifndef INNER
#define INNER inner
#define BYTES 4322
#endif

static void *early;

__attribute__((constructor)) static void begin(void)
{
    early = malloc(4321);
}

__attribute__((noinline, noclone)) static void *INNER(void)
{
    void *block = malloc(BYTES);
    return block == early ? NULL : block;
}

void *plugin_allocate(void)
{
    free(early);
    early = NULL;
    return INNER();
}
