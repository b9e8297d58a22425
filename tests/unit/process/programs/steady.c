/* A program that computes in one thread. It exits with an error if any of its registers or errno
 * changes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double sum(void)
{
    double total = 0, scale = 1.5;
    for (int i = 1; i < 20000; i++)
        total += scale / i;
    return total;
}

int main(void)
{
    alarm(60);
    free(malloc(100));
    double expected = sum();
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (errno = 77;;)
        if (sum() != expected || errno != 77)
            return 1;
}
