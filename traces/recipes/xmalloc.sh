# One thread allocates blocks and another frees them, in batches, as in xmalloc by Lever and Boreham (2000).
# Packages: gcc libc6-dev
cat > xmalloc.c <<'C'
/* 4 threads fill batches of 120 blocks, 400 each; 4 others take a batch from the queue and free it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 4, BATCH = 120, BATCHES = 400, QUEUE = 64 };

struct batch {
    void *block[BATCH];
};

static struct batch *queue[QUEUE];
static int first, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void put(struct batch *batch)
{
    pthread_mutex_lock(&lock);
    while (count == QUEUE)
        pthread_cond_wait(&changed, &lock);
    queue[(first + count++) % QUEUE] = batch;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static struct batch *take(void)
{
    pthread_mutex_lock(&lock);
    while (count == 0)
        pthread_cond_wait(&changed, &lock);
    struct batch *batch = queue[first];
    first = (first + 1) % QUEUE;
    count--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return batch;
}

static void *produce(void *argument)
{
    unsigned state = (unsigned)(size_t)argument;
    for (int turn = 0; turn < BATCHES; turn++) {
        struct batch *batch = calloc(1, sizeof *batch);
        for (int i = 0; i < BATCH; i++) {
            state = state * 69069 + 12345;
            size_t size = 8u << (state >> 20) % 7;
            batch->block[i] = memset(malloc(size), 1, size);
        }
        put(batch);
    }
    return NULL;
}

static void *consume(void *argument)
{
    for (int turn = 0; turn < BATCHES; turn++) {
        struct batch *batch = take();
        for (int i = 0; i < BATCH; i++)
            free(batch->block[i]);
        free(batch);
    }
    return argument;
}

int main(void)
{
    pthread_t threads[2 * PAIRS];
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_create(&threads[i], NULL, i % 2 ? consume : produce, (void *)(size_t)i);
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
C
gcc -O2 -pthread -o xmalloc xmalloc.c
$RECORD ./xmalloc
