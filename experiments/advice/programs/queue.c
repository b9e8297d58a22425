/* Producers and consumers: one thread allocates a message and another frees it. A burst fills the
 * queue, which then drains: the freed memory stays in the producers' arenas. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"

enum { PAIRS = 4, BURSTS = 6, MESSAGES = 4000, KEPT_OF = 200 };

struct pair {
    void *messages[MESSAGES];
    pthread_barrier_t full, dry;
};

static void *produce(void *given) {
    struct pair *pair = given;
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 0; i < MESSAGES; i++) {
            size_t size = 64 + (size_t)(i * 37 + burst * 101) % 900;
            memset(pair->messages[i] = malloc(size), 1, size);
        }
        pthread_barrier_wait(&pair->full);
        pthread_barrier_wait(&pair->dry);
    }
    return NULL;
}

static void *consume(void *given) {
    struct pair *pair = given;
    for (int burst = 0; burst < BURSTS; burst++) {
        pthread_barrier_wait(&pair->full);
        for (int i = 0; i < MESSAGES; i++)
            if (i % KEPT_OF)
                free(pair->messages[i]);
        pthread_barrier_wait(&pair->dry);
    }
    return NULL;
}

int main(int count, char **arguments) {
    static struct pair pairs[PAIRS];
    pthread_t threads[2 * PAIRS];
    int started = count > 1 ? atoi(arguments[1]) : PAIRS;
    for (int i = 0; i < started; i++) {
        pthread_barrier_init(&pairs[i].full, NULL, 2);
        pthread_barrier_init(&pairs[i].dry, NULL, 2);
        pthread_create(&threads[2 * i], NULL, produce, &pairs[i]);
        pthread_create(&threads[2 * i + 1], NULL, consume, &pairs[i]);
    }
    for (int i = 0; i < 2 * started; i++)
        pthread_join(threads[i], NULL);
    print_held();
    return 0;
}
