/* Threads that repeatedly allocate, write and free a block. Arguments: THREADS TURNS BYTES. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64 };

static long turns;
static size_t bytes;

static void *work(void *unused)
{
    for (long i = 0; i < turns; i++) {
        void *block = malloc(bytes);
        if (block == NULL)
            abort();
        memset(block, 1, bytes);
        free(block);
    }
    return unused;
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    long threads = strtol(words[1], NULL, 10);
    turns = strtol(words[2], NULL, 10);
    bytes = strtoul(words[3], NULL, 10);
    if (threads > MOST_THREADS)
        return 2;
    pthread_t started[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        if (pthread_create(&started[i], NULL, work, NULL) != 0)
            return 1;
    for (long i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    return 0;
}
