/* Detached threads live at the same time and then end. Their stacks exceed glibc's cache of stacks.
 * Therefore the threads that end last free other threads' stacks after all destructors. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 16, STACK = 8 << 20 };

static pthread_barrier_t barrier;

static void *live(void *argument)
{
    void *block = malloc(100);
    pthread_barrier_wait(&barrier);
    free(block);
    return argument;
}

static int tasks(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, &attributes, live, NULL);
    }
    while (tasks() > 1)
        usleep(1000);
    return 0;
}
