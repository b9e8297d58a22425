/* Allocates in one of several ways, prints every live block and malloc's own report, and waits.
 *
 * Lines: "block ADDRESS USABLE", malloc_info's XML, "mallinfo" and its fields, "ready PID". Then it
 * reads commands: "trim" calls malloc_trim(0) and prints the break, "quit" ends the program. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 2000, THREADS = 4 };

struct owner {
    void *block[BLOCKS];
    uint32_t random;
};

static struct owner owners[THREADS];
static pthread_barrier_t barrier;

static uint32_t draw(struct owner *owner)
{
    owner->random = owner->random * 1664525 + 1013904223;
    return owner->random >> 8;
}

static void churn(struct owner *owner, int rounds, size_t largest)
{
    for (int i = 0; i < rounds; i++) {
        void **block = &owner->block[draw(owner) % BLOCKS];
        size_t size = draw(owner) % 10 == 0 ? draw(owner) % largest : draw(owner) % 600;
        free(*block);
        *block = draw(owner) % 3 == 0 ? NULL : malloc(size);
        if (*block != NULL && draw(owner) % 2)
            memset(*block, 1, malloc_usable_size(*block));
    }
}

static void *run(void *owner)
{
    churn(owner, 20000, 60000);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* never completed, so that the thread stays */
    return NULL;
}

static void with_threads(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&thread, NULL, run, &owners[i]);
    churn(&owners[0], 20000, 60000);
    pthread_barrier_wait(&barrier);
}

static void with_mappings(void)
{
    static const size_t alignments[] = {32, 64, 4096, 8192, 65536};
    struct owner *owner = &owners[0];
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    churn(owner, 3000, 1000000);
    for (int i = 0; i < 5; i++) {
        free(owner->block[i]);
        owner->block[i] = memalign(alignments[i], 300000 + (size_t)i * 5000);
    }
    owner->block[5] = realloc(owner->block[5], 700000);
    owner->block[5] = realloc(owner->block[5], 2000000);
}

/* The program itself moves the break, and later the break cannot move at all. */
static void with_pieces(void)
{
    churn(&owners[0], 5000, 20000);
    sbrk(8216);
    churn(&owners[1], 5000, 20000);
    sbrk(100 << 10);
    churn(&owners[2], 2000, 20000);
    mmap((char *)sbrk(0) + 4096, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    churn(&owners[3], 10000, 60000);
}

/* The program itself moves the break once. */
static void with_foreign(void)
{
    churn(&owners[0], 2000, 20000);
    sbrk(24);
    churn(&owners[1], 5000, 20000);
}

static void report(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < BLOCKS; j++)
            if (owners[i].block[j] != NULL)
                printf("block %p %zu\n", owners[i].block[j],
                       malloc_usable_size(owners[i].block[j]));
    malloc_info(0, stdout);
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    printf("mallinfo %zu %zu %zu %zu %zu %zu %zu %zu %zu\n", info.arena, info.ordblks,
           info.smblks, info.hblks, info.hblkhd, info.fsmblks, info.uordblks, info.fordblks,
           info.keepcost);
#endif
    printf("ready %d\n", (int)getpid());
}

/* Answers commands until "quit" or the end of input, which it reads without stdio. */
static void obey(void)
{
    char command[16];
    ssize_t length;
    while ((length = read(0, command, sizeof command)) > 0) {
        if (strncmp(command, "quit", 4) == 0)
            break;
        if (strncmp(command, "trim", 4) == 0) {
            malloc_trim(0);
            printf("break %p\n", sbrk(0));
        }
    }
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "threads";
    for (int i = 0; i < THREADS; i++)
        owners[i].random = (uint32_t)(i + 1) * 7919;
    if (strcmp(way, "threads") == 0 || strcmp(way, "fork") == 0)
        with_threads();
    else if (strcmp(way, "mappings") == 0)
        with_mappings();
    else if (strcmp(way, "foreign") == 0)
        with_foreign();
    else if (strcmp(way, "few") == 0)
        churn(&owners[0], 2500, 8000);
    else
        with_pieces();
    if (strcmp(way, "fork") == 0) {
        pid_t child = fork();
        if (child != 0) {
            waitpid(child, NULL, 0);
            _exit(0);
        }
        churn(&owners[0], 3000, 60000);
    }
    report();
    obey();
    _exit(0);
}
