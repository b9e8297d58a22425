/* Reads or writes a large block only at the end, after some milliseconds. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 20 << 20, PAGE = 4096 };

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    char *volatile block = calloc(1, BYTES);
    usleep((unsigned)atoi(words[2]) * 1000);
    if (strcmp(words[1], "writes") == 0)
        memset(block, 1, BYTES);
    int sum = 0;
    for (int i = 0; i < BYTES; i += PAGE)
        sum |= ((volatile char *)block)[i];
    return sum == 2;
}
