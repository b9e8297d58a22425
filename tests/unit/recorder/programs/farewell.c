/* Threads whose data have a destructor that allocates and frees after the recorder has recorded the
 * thread's end, and that requests another call. */
#include "say.h"

#include <pthread.h>

enum { THREADS = 3 };

static pthread_key_t key;

static void say_farewell(void *data)
{
    free(malloc(99));
    size_t *left = data;
    if (--*left > 0)
        pthread_setspecific(key, left);
    else
        free(left);
}

static void *work(void *unused)
{
    (void)unused;
    size_t *left = malloc(sizeof *left);
    *left = 3;
    pthread_setspecific(key, left);
    return NULL;
}

int main(void)
{
    free(malloc(1)); /* makes the recorder's destructor first, so that it is called first */
    if (pthread_key_create(&key, say_farewell) != 0)
        return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    }
    return 0;
}
