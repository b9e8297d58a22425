# The server of Larson and Krishnan (ISMM 1998): a thread that exits passes its blocks to the next thread.
# Packages: gcc libc6-dev
cat > larson.c <<'C'
/* Each of 8 workers has 500 blocks and replaces one at random, 4,000 times; then it starts a thread
 * that goes on with the blocks that it leaves, and ends. That happens 4 times. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 8, BLOCKS = 500, TURNS = 4000, ROUNDS = 4, LEAST = 10, MOST = 500 };

struct worker {
    void *block[BLOCKS];
    unsigned state;
    int round;
    pthread_t thread;
};

static struct worker workers[WORKERS];
static pthread_barrier_t done;

static unsigned draw(struct worker *worker)
{
    worker->state = worker->state * 69069 + 12345;
    return worker->state >> 8;
}

static void *fresh(struct worker *worker)
{
    size_t size = LEAST + draw(worker) % (MOST - LEAST);
    return memset(malloc(size), 1, size);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int turn = 0; turn < TURNS; turn++) {
        unsigned victim = draw(worker) % BLOCKS;
        free(worker->block[victim]);
        worker->block[victim] = fresh(worker);
    }
    pthread_detach(pthread_self());
    if (++worker->round < ROUNDS)
        pthread_create(&worker->thread, NULL, work, worker);
    else
        pthread_barrier_wait(&done);
    return NULL;
}

int main(void)
{
    pthread_barrier_init(&done, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].state = (unsigned)i;
        for (int each = 0; each < BLOCKS; each++)
            workers[i].block[each] = fresh(&workers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    pthread_barrier_wait(&done);
    return 0;
}
C
gcc -O2 -pthread -o larson larson.c
$RECORD ./larson
