/* Gives up root's rights and continues: in itself, in children, and in a program that it starts. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, BLOCKS = 50000 };

static void allocate(size_t size)
{
    for (int i = 0; i < BLOCKS; i++)
        if (malloc(size) == NULL)
            abort();
}

int main(void)
{
    allocate(11);
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return 1;
    closefrom(3);
    allocate(12);
    for (size_t child = 0; child < 2; child++)
        if (fork() == 0) {
            allocate(13 + child);
            _exit(0);
        }
    if (fork() == 0) {
        execl("/bin/true", "true", "after", (char *)NULL);
        _exit(1);
    }
    int failed = 0;
    for (int status; wait(&status) > 0;)
        failed |= status;
    return failed != 0;
}
