/* Allocates from call stacks of every kind. The size of each block is the line number in the list
 * of test_stacks.py. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static void *kept[64];
static int count;

APART static void keep(size_t size)
{
    kept[count++] = malloc(size);
}

APART static void of_changing_size(size_t bytes)
{
    char *room = alloca(bytes);
    memset(room, 1, bytes);
    keep(1001);
    room[0] = 2;
    kept[63] = room[bytes - 1] == 3 ? room : NULL;
}

APART static void aligned(size_t bytes)
{
    _Alignas(256) char room[512];
    char *more = alloca(bytes);
    memset(room, 1, sizeof room);
    memset(more, 1, bytes);
    keep(1002);
    kept[63] = room[3] + more[1] == 7 ? NULL : kept[63];
}

APART static void handle(int number)
{
    keep(number == SIGUSR1 ? 1003 : 1);
}

APART static void interrupted(void)
{
    raise(SIGUSR1);
    kept[62] = NULL;
}

APART static void deep(unsigned depth)
{
    if (depth == 0)
        keep(1004);
    else
        deep(depth - 1);
    kept[62] = NULL;
}

APART static void *in_thread(void *argument)
{
    keep(1005);
    return argument;
}

APART static int compare(const void *one, const void *other)
{
    if (count == 5)
        keep(1006);
    return *(const char *)one - *(const char *)other;
}

int main(void)
{
    pthread_t thread;
    char letters[] = "zyx";
    of_changing_size(5000);
    aligned(300);
    signal(SIGUSR1, handle);
    interrupted();
    deep(100);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    qsort(letters, 3, 1, compare);
    return 0;
}
