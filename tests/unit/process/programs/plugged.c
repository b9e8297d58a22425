/* A library that attached.c loads. */
#include <stdlib.h>

static void *volatile block;

void plugin_allocate(void)
{
    block = malloc(54321);
}
