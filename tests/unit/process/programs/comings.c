/* Starts and ends threads that allocate and free, without pause, until its input ends. With an
 * argument, two permanent threads use the malloc of a second libc, which dlmopen loads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 6, BLOCKS = 300, STAYING = 2 };

static void *(*second_malloc)(size_t);
static void (*second_free)(void *);

static void *run(void *left)
{
    void *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc((size_t)(i * 37) % 3000);
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    return left;
}

static void *come_and_go(void *unused)
{
    pthread_t thread[THREADS];
    for (;;) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, run, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    return unused;
}

static void *stay(void *unused)
{
    void *block[BLOCKS] = {0};
    for (unsigned i = 0;; i++) {
        void **place = &block[i * 7 % BLOCKS];
        second_free(*place);
        *place = second_malloc((i * 31) % 5000);
    }
    return unused;
}

static void use_a_second_libc(void)
{
    pthread_t thread;
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    if (libc == NULL)
        exit(1);
    second_malloc = (void *(*)(size_t))dlsym(libc, "malloc");
    second_free = (void (*)(void *))dlsym(libc, "free");
    for (int i = 0; i < STAYING; i++)
        pthread_create(&thread, NULL, stay, NULL);
}

int main(int count, char **words)
{
    pthread_t thread;
    char line[16];
    (void)words;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1)
        use_a_second_libc();
    pthread_create(&thread, NULL, come_and_go, NULL);
    printf("ready %d\n", (int)getpid());
    while (read(0, line, sizeof line) > 0)
        ;
    _exit(0);
}
