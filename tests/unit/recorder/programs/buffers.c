/* Allocates partly written large blocks, which are freed, resized, or live at the end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEGABYTE = 1 << 20 };

static char *made(size_t bytes, size_t written)
{
    char *block = malloc(bytes);
    memset(block, 1, written);
    return block;
}

int main(int count, char **words)
{
    free(made(20 * MEGABYTE + 1, 0));
    free(made(20 * MEGABYTE + 2, 20 * MEGABYTE + 2));
    free(made(20 * MEGABYTE + 3, 5 * MEGABYTE));
    free(calloc(1, 20 * MEGABYTE + 4));
    char *grown = made(20 * MEGABYTE + 5, 2 * MEGABYTE);
    grown = realloc(grown, 40 * MEGABYTE + 6);
    memset(grown, 1, 30 * MEGABYTE);
    free(grown);
    char *left = made(20 * MEGABYTE + 7, MEGABYTE);
    free(made(1000, 0));
    if (count > 1 && words[1][0] == '_')
        _exit(left == NULL);
    return left == NULL;
}
