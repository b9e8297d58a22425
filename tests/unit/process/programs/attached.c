/* A program of four threads that allocate and free without pause, and record their blocks. A line
 * on stdin is a command: `stop` stops the threads and prints every block, `go` continues them,
 * `load LIBRARY` calls plugin_allocate of a library. The first thread blocks all signals. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 500, LARGE = 300000, PAUSE_US = 50 };

static void *blocks[THREADS][BLOCKS];
static bool stop;
static int stopped;

static void *fresh(unsigned dice, size_t size)
{
    void *block;
    if (dice % 200 == 0)
        return malloc(LARGE + size); /* mapped separately */
    if (dice % 11 == 0)
        return calloc(3, size);
    if (dice % 7 == 0)
        return posix_memalign(&block, 64, size) == 0 ? block : NULL;
    return malloc(size);
}

static void wait_while_stopped(void)
{
    __atomic_add_fetch(&stopped, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
        usleep(PAUSE_US);
    __atomic_sub_fetch(&stopped, 1, __ATOMIC_SEQ_CST);
}

static void *work(void *number)
{
    size_t own = (size_t)number;
    for (unsigned dice = 12345 + (unsigned)own;;) {
        dice = dice * 1103515245 + 12345;
        void **place = &blocks[own][(dice >> 8) % BLOCKS];
        size_t size = (dice >> 20) % 500 + 1;
        if (*place == NULL) {
            *place = fresh(dice >> 10, size);
        } else if (dice & 1 << 17) {
            *place = realloc(*place, size);
        } else {
            free(*place);
            *place = NULL;
        }
        if (dice % 64 == 0)
            usleep(PAUSE_US);
        if (__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
            wait_while_stopped();
    }
    return NULL;
}

static void set_stop(bool value, int threads)
{
    __atomic_store_n(&stop, value, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&stopped, __ATOMIC_SEQ_CST) != threads)
        usleep(PAUSE_US);
}

static void print_blocks(void)
{
    for (size_t i = 0; i < THREADS; i++)
        for (size_t j = 0; j < BLOCKS; j++)
            if (blocks[i][j] != NULL)
                printf("block %lx %zu\n", (long)blocks[i][j], malloc_usable_size(blocks[i][j]));
    printf("ready %d\n", (int)getpid());
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*allocate)(void) = library == NULL ? NULL : (void (*)(void))dlsym(library, "plugin_allocate");
    if (allocate != NULL)
        allocate();
    puts(allocate == NULL ? "missing" : "loaded");
}

int main(void)
{
    char line[4096];
    pthread_t thread;
    sigset_t all;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, work, (void *)i);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    printf("ready %d\n", (int)getpid());
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "stop") == 0) {
            set_stop(true, THREADS);
            print_blocks();
        } else if (strcmp(line, "go") == 0) {
            set_stop(false, 0);
            puts("gone on");
        } else if (strncmp(line, "load ", 5) == 0) {
            load(line + 5);
        }
    }
    return 0;
}
