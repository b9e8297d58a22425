/* Allocates while a signal handler that comes every 200 microseconds does the same. It must run
 * with the allocator of bump.c, which a signal handler may call. The blocks that the handler
 * allocates are HANDLED bytes long; how many there were is written. */
#include "say.h"

#include <signal.h>
#include <sys/time.h>

enum { HANDLED = 333 };

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    void *block = malloc(HANDLED);
    block = realloc(block, HANDLED);
    free(block);
    handled++;
}

int main(int count, char **arguments)
{
    size_t rounds = count > 1 ? strtoul(arguments[1], NULL, 10) : 100000;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (size_t i = 0; i < rounds; i++) {
        void *block = malloc(16);
        __asm__ volatile("" : "+r"(block));
        free(block);
    }
    often = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    printf("%d\n", (int)handled);
    return 0;
}
