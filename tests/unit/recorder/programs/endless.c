/* Threads that allocate and free until the process kills itself, when each has done enough. Each
 * thread counts its work in shared memory: the argument names a file with one number per thread. */
#include "say.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

enum { THREADS = 4, LIVE = 100, ENOUGH = 10000 };

static void *work(void *argument)
{
    _Atomic uint64_t *done = argument;
    void *blocks[LIVE] = {NULL};
    for (uint64_t i = 0;; i++) {
        void **block = &blocks[i * 31 % LIVE];
        if (i % 7 == 0) {
            *block = realloc(*block, 8 + i % 3000);
        } else {
            free(*block);
            *block = malloc(8 + i % 300);
        }
        __atomic_store_n(done, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int file = count > 1 ? open(arguments[1], O_RDWR) : -1;
    _Atomic uint64_t *done =
        mmap(NULL, THREADS * sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (done == MAP_FAILED)
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, (void *)&done[i]);
    for (int i = 0; i < THREADS; i++)
        while (__atomic_load_n(&done[i], __ATOMIC_ACQUIRE) < ENOUGH)
            usleep(1000);
    return kill(getpid(), SIGKILL);
}
