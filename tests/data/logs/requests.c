/* Allocates in every way that the logs in this directory can distinguish. */
#define _GNU_SOURCE
#include <malloc.h>
#ifdef MTRACE
#include <mcheck.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *in_a_thread(void *unused)
{
    for (size_t i = 0; i < 3; i++)
        free(realloc(malloc(33 + i), 5000));
    return unused;
}

int main(void)
{
#ifdef MTRACE
    mtrace();
#endif
    char *grown = malloc(100);
    void *zeroed = calloc(3, 7);
    grown = realloc(grown, 200000);
    grown = realloc(grown, 300000);
    free(zeroed);
    free(realloc(realloc(NULL, 40), 0));
    void *aligned = memalign(256, 500), *also_aligned = aligned_alloc(64, 128), *posix = NULL;
    if (posix_memalign(&posix, 4096, 77) != 0)
        return 1;
    void *page = valloc(10), *array = reallocarray(NULL, 5, 6), *nothing = malloc(0);
    void *volatile too_much = malloc((size_t)1 << 62);
    free(too_much);
    free(NULL);
    char *copy = strdup("hello");
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    free(aligned);
    free(also_aligned);
    free(posix);
    free(page);
    free(array);
    free(nothing);
    free(copy);
    too_much = realloc(grown, (size_t)1 << 61);
    return too_much != NULL; /* the grown object is never freed */
}
