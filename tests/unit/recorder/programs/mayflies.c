/* Many short-lived threads, one after the other, which also allocate when they end. */
#include "say.h"

#include <pthread.h>

enum { THREADS = 3000 };

static pthread_key_t key;

static void at_end(void *block)
{
    free(block);
    free(malloc(78));
}

static void *work(void *argument)
{
    pthread_setspecific(key, malloc(77));
    return argument;
}

int main(void)
{
    pthread_t thread;
    pthread_key_create(&key, at_end);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
