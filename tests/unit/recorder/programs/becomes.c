/* Starts `true` in every way, with an environment that contains no trace of the recorder. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRUE "/bin/true"

static char *arguments[] = {"true", "an argument", NULL};
static char *bare[] = {"A=1", NULL};

static void become(int way)
{
    switch (way) {
    case 0:
        execve(TRUE, arguments, bare);
        break;
    case 1:
        execv(TRUE, arguments);
        break;
    case 2:
        execvp("true", arguments);
        break;
    case 3:
        execvpe("true", arguments, bare);
        break;
    case 4:
        execl(TRUE, "true", "an argument", (char *)NULL);
        break;
    case 5:
        execlp("true", "true", "an argument", (char *)NULL);
        break;
    case 6:
        execle(TRUE, "true", "an argument", (char *)NULL, bare);
        break;
    case 7:
        fexecve(open(TRUE, O_RDONLY | O_CLOEXEC), arguments, bare);
        break;
    }
    _exit(1);
}

static int ended_well(pid_t child)
{
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    pid_t child;
    clearenv();
    putenv("PATH=/usr/bin:/bin");
    for (int way = 0; way < 8; way++) {
        child = fork();
        if (child == 0)
            become(way);
        if (!ended_well(child))
            return 1;
    }
    if (posix_spawn(&child, TRUE, NULL, NULL, arguments, bare) != 0 || !ended_well(child))
        return 2;
    if (posix_spawnp(&child, "true", NULL, NULL, arguments, NULL) != 0 || !ended_well(child))
        return 3;
    child = vfork();
    if (child == 0)
        execve(TRUE, arguments, bare);
    return ended_well(child) ? 0 : 4;
}
