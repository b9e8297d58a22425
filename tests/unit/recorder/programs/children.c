/* Starts 20 children, which allocate and free at the same addresses. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 20, ROUNDS = 100 };

static void churn(void)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        void *volatile block = malloc(i + 1);
        free(block);
    }
}

int main(void)
{
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            churn();
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}
