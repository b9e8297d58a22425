/* Writes 8 MB of a block of 20 MB and one page of a block of 40 KiB, computes and waits, and then
 * kills itself. The argument is the duration of the wait in milliseconds. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSOR_MILLISECONDS = 200 };

int main(int count, char **arguments)
{
    char *large = malloc(20 << 20), *middle = malloc(40 << 10);
    if (count != 2 || large == NULL || middle == NULL)
        return 1;
    memset(large, 1, 8 << 20);
    middle[0] = 1;
    free(middle);
    while (clock() < PROCESSOR_MILLISECONDS * (CLOCKS_PER_SEC / 1000))
        ;
    usleep((useconds_t)atoi(arguments[1]) * 1000);
    raise(SIGKILL);
}
