/* Allocates, reports the allocations, and ends in the way that its argument names. The account is
 * written before the end. */
#include "say.h"

#include <pthread.h>
#include <signal.h>

enum { BLOCKS = 5000 };

static void end(const char *how)
{
    if (strcmp(how, "segv") == 0)
        *(volatile int *)8 = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "_exit") == 0)
        _exit(7);
    else if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(how, "exec") == 0)
        execl("/bin/echo", "echo", "done", NULL);
}

int main(int count, char **arguments)
{
    struct account account = account_open(2 * BLOCKS);
    void *blocks[BLOCKS];
    void *mark = malloc(MARK);
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = (size_t)(i * 37 % 700);
        blocks[i] = malloc(size);
        say(&account, 'm', blocks[i], size, 0);
        if (i % 3 == 0) {
            say(&account, 'f', blocks[i / 2], 0, 0);
            free(blocks[i / 2]);
            blocks[i / 2] = NULL;
        }
    }
    free(mark);
    account_write(&account);
    end(count > 1 ? arguments[1] : "");
    return 0;
}
