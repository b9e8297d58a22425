/* Does everything that surprises a preloaded library: closes every file and reuses the numbers,
 * changes its directory, drops its rights, and changes its environment. Then it allocates many
 * blocks. */
#define _GNU_SOURCE
#include "say.h"

#include <fcntl.h>

enum { BLOCKS = 300000, NOBODY = 65534 };

int main(void)
{
    close_range(3, ~0U, 0);
    for (int i = 0; i < 1000; i++)
        if (open("/dev/null", O_RDWR) < 0)
            break;
    if (chdir("/") != 0 || clearenv() != 0)
        return 1;
    if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;
    for (size_t i = 0; i < BLOCKS; i++)
        if (malloc(i % 5000) == NULL)
            return 1;
    return 0;
}
