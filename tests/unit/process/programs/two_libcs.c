/* Allocates from two mallocs, the second in a separate libc that dlmopen loads. With an argument,
 * the break of the first cannot move. Threads start and end. The second malloc frees some blocks of
 * the first, as the loader does with its own. The output is described in blocks.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST = 3000, SECOND = 6000, ROUNDS = 4, THREADS = 6, CROSSED = 6 };

static void *first[FIRST], *second[SECOND];

static void *come_and_go(void *unused)
{
    void *block[200];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 200; i++)
            block[i] = malloc(100 + i * 3);
        for (size_t i = 0; i < 200; i++)
            free(block[i]);
    }
    return unused;
}

int main(int count, char **words)
{
    (void)words;
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
    void (*release)(void *) = (void (*)(void *))dlsym(libc, "free");
    size_t (*usable)(void *) = (size_t(*)(void *))dlsym(libc, "malloc_usable_size");
    pthread_t thread[THREADS];
    void *crossed[CROSSED];
    char end[8];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, come_and_go, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    for (size_t i = 0; i < FIRST; i++)
        first[i] = malloc(20 + i % 700);
    for (size_t i = 0; i < SECOND; i++)
        second[i] = allocate(20 + i % 900);
    if (count > 1)
        mmap((char *)sbrk(0) + 4096, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0);
    for (size_t i = 0; i < FIRST; i += 2) {
        free(first[i]);
        first[i] = i % 4 ? malloc(i % 2000) : NULL;
    }
    for (size_t i = 0; i < SECOND; i += 3) {
        release(second[i]);
        second[i] = NULL;
    }
    for (size_t i = 0; i < CROSSED; i++)
        crossed[i] = malloc(1000);
    for (size_t i = 0; i < CROSSED; i++)
        release(crossed[i]);
    first[0] = malloc(400000);
    second[0] = allocate(500000);
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < FIRST; i++)
        if (first[i] != NULL)
            printf("block %p %zu\n", first[i], malloc_usable_size(first[i]));
    for (size_t i = 0; i < SECOND; i++)
        if (second[i] != NULL)
            printf("block %p %zu\n", second[i], usable(second[i]));
    for (size_t i = 0; i < CROSSED; i++)
        printf("crossed %p\n", crossed[i]);
    printf("ready %d\n", (int)getpid());
    return (int)read(0, end, sizeof end);
}
