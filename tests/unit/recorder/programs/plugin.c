/* A library that is loaded at run time and allocates, in its constructor too. */
#include <stdlib.h>

static void *early;

__attribute__((constructor)) static void begin(void)
{
    early = malloc(4321);
}

void *plugin_allocate(void)
{
    free(early);
    return malloc(4322);
}
