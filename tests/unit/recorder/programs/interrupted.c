/* Allocates while a signal handler allocates every 200 microseconds, until the handler has run
 * ENOUGH times or memory is exhausted. The program requires the allocator of bump.c, which a signal
 * handler may call. The handler's blocks are HANDLED bytes long. The program writes the numbers of
 * its other blocks and of the handler's blocks. */
#include "say.h"

#include <signal.h>
#include <sys/time.h>

enum { HANDLED = 333, ENOUGH = 500, ROOM = 8000000 };

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    void *block = malloc(HANDLED);
    block = realloc(block, HANDLED);
    free(block);
    handled++;
}

int main(void)
{
    long rounds = 0;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (; handled < ENOUGH && rounds < ROOM; rounds++) {
        void *block = malloc(16);
        __asm__ volatile("" : "+r"(block));
        free(block);
    }
    often = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    printf("%ld %d\n", rounds, (int)handled);
    return 0;
}
