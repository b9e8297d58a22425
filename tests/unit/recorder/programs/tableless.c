/* Code without unwinding tables, as made by a run-time compiler. It allocates in the first thread
 * and in another one, and writes the number of mincore calls, by which the recorder queries mapped
 * memory. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 2000, DEPTH = 20 };

static _Atomic int asked;

int mincore(void *start, size_t bytes, unsigned char *pages)
{
    asked++;
    return (int)syscall(SYS_mincore, start, bytes, pages);
}

__attribute__((noinline)) static void deep(int depth, size_t size)
{
    if (depth > 0)
        deep(depth - 1, size);
    else
        free(malloc(size));
    __asm__ volatile("");
}

static void *work(void *size)
{
    pthread_attr_t attributes; /* the C library allocates for attributes under a lock of the thread
                                  */
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < ROUNDS; i++)
        deep(DEPTH, (size_t)size);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    alarm(60);
    work((void *)1001);
    pthread_create(&thread, NULL, work, (void *)1002);
    pthread_join(thread, NULL);
    printf("%d\n", asked);
    return 0;
}
