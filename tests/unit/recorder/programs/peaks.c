/* Allocates 64 MB in blocks and frees them in much less than a second. */
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 64, BYTES = 1000000 };

int main(void)
{
    char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = memset(malloc(BYTES), 1, BYTES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return 0;
}
