/* Threads that allocate, reallocate and free blocks that they take from one another. Usage: threads
 * THREADS EVENTS. Each thread's account is written after a line "thread". */
#include "say.h"

#include <pthread.h>

enum { PLACES = 64, MAX_THREADS = 64 };

static void *_Atomic places[PLACES];
static size_t events;

struct worker {
    pthread_t thread;
    uint64_t random;
    struct account account;
};

static uint64_t roll(struct worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random >> 20;
}

/* Few sizes, so that addresses are reused quickly; some are so large that they are mapped and
 * moved. */
static size_t size_of(struct worker *worker)
{
    uint64_t die = roll(worker);
    if (die % 64 == 0)
        return 200000 + die % 400000;
    return die % 8 == 0 ? 1 + die % 5000 : 16 + die % 4 * 16;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (size_t i = 0; i < events; i++) {
        void *mine = __atomic_exchange_n(&places[roll(worker) % PLACES], NULL, __ATOMIC_ACQ_REL);
        size_t size = size_of(worker);
        if (mine == NULL) {
            mine = malloc(size);
            say(&worker->account, 'm', mine, size, 0);
        } else if (roll(worker) % 2) {
            mine = realloc(mine, size);
            say(&worker->account, 'r', mine, size, 0);
        } else {
            say(&worker->account, 'f', mine, 0, 0);
            free(mine);
            continue;
        }
        void *other = __atomic_exchange_n(&places[roll(worker) % PLACES], mine, __ATOMIC_ACQ_REL);
        if (other != NULL) {
            say(&worker->account, 'f', other, 0, 0);
            free(other);
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    static struct worker workers[MAX_THREADS];
    size_t threads = count > 1 ? strtoul(arguments[1], NULL, 10) : 4;
    events = count > 2 ? strtoul(arguments[2], NULL, 10) : 100000;
    for (size_t i = 0; i < threads; i++) {
        workers[i].random = 88172645463325252u + i * 7919;
        workers[i].account = account_open(2 * events);
    }
    for (size_t i = 0; i < threads; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (size_t i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < threads; i++) {
        if (write(STDOUT_FILENO, "thread\n", 7) != 7)
            return 1;
        account_write(&workers[i].account);
    }
    return 0;
}
