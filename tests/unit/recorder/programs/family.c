/* Creates children by fork, _Fork, clone and vfork. Each process allocates one block of its own
 * size. */
#define _GNU_SOURCE
#include "say.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char *shell[] = {"sh", "-c", "exit 0", NULL};

static void *held; /* allocated by the parent, freed by every child */

static void child(size_t size)
{
    free(held);
    if (malloc(size) == NULL)
        _exit(1);
    _exit(0);
}

static pthread_barrier_t allocated; /* passed when the thread has allocated */

static void *idle(void *argument)
{
    free(malloc(17));
    pthread_barrier_wait(&allocated);
    pause();
    return argument;
}

int main(void)
{
    pthread_t thread;
    int status;
    held = malloc(1000);
    pthread_barrier_init(&allocated, NULL, 2);
    pthread_create(&thread, NULL, idle, NULL); /* fork while another thread exists */
    pthread_barrier_wait(&allocated);
    if (fork() == 0)
        child(1001);
    wait(&status);
    if (_Fork() == 0)
        child(1002);
    wait(&status);
    if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0)
        child(1003);
    wait(&status);
    if (fork() == 0) {
        if (fork() == 0)
            child(1005);
        wait(&status);
        child(1004);
    }
    wait(&status);
    if (vfork() == 0) {
        execv("/bin/sh", shell);
        _exit(1);
    }
    wait(&status);
    if (malloc(1006) == NULL)
        return 1;
    free(held);
    return 0;
}
