# A thread pool: one thread creates jobs, and other threads execute them and keep some results.
# Packages: gcc libc6-dev
cat > pool.c <<'C'
/* The main thread makes 16,000 jobs; 12 workers carry them out, each with a result that grows, and
 * scratch that is freed. One result in 40 is kept by the worker to its end. For a while, in the
 * middle, only two workers have something to do. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 12, JOBS = 16000, KEPT = 40 };

struct job {
    struct job *next;
    int number;
    char name[40];
};

static struct job *waiting;
static int is_over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct job *take(int worker)
{
    struct job *job;
    pthread_mutex_lock(&lock);
    while ((waiting == NULL || (waiting->number / 4000 == 2 && worker > 1)) && !is_over)
        pthread_cond_wait(&changed, &lock);
    job = waiting;
    if (job != NULL)
        waiting = job->next;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return job;
}

static void *work(void *argument)
{
    int worker = (int)(size_t)argument;
    unsigned state = (unsigned)worker;
    struct job *job;
    while ((job = take(worker)) != NULL) {
        state = state * 69069 + 12345;
        size_t size = 64 + (state >> 20) % 2000;
        char *scratch = calloc(4, size);
        char *result = malloc(size);
        for (int i = 1; i < 4; i++) {
            result = realloc(result, size * (size_t)(i + 1));
            memcpy(result + size * (size_t)i, scratch + size * (size_t)i, size);
        }
        free(scratch);
        if (job->number % KEPT)
            free(result);
        free(job);
    }
    return NULL;
}

int main(void)
{
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)(size_t)i);
    for (int number = 0; number < JOBS; number++) {
        struct job *job = malloc(sizeof *job);
        job->number = number;
        pthread_mutex_lock(&lock);
        job->next = waiting;
        waiting = job;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    for (int is_empty = 0; !is_empty;) {
        pthread_mutex_lock(&lock);
        is_empty = is_over = waiting == NULL;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
C
gcc -O2 -pthread -o pool pool.c
$RECORD ./pool
