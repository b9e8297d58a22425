/* `temp_buffer` is innocent and `remember_session` guilty, and both allocate through `xmalloc`.
 * With the argument "apart", sessions have their own arena. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SESSIONS = 2000, ARENA = 1 << 20 };

static void *buffers[SESSIONS], *sessions[SESSIONS];
static char *arena;

static void *xmalloc(size_t size)
{
    void *block = malloc(size);
    if (block == NULL)
        abort();
    return memset(block, 1, size);
}

static void *take(size_t size)
{
    char *block = arena;
    arena += (size + 15) / 16 * 16;
    return memset(block, 1, size);
}

__attribute__((noinline)) static void temp_buffer(int number)
{
    buffers[number] = xmalloc(3000 + (size_t)number % 7 * 100);
}

__attribute__((noinline)) static void remember_session(int number)
{
    size_t size = 100 + (size_t)number % 10;
    if (arena != NULL)
        sessions[number] = take(size);
    else
        sessions[number] = xmalloc(size); /* guilty */
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "apart") == 0)
        arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int number = 0; number < SESSIONS; number++) {
        temp_buffer(number);
        remember_session(number);
    }
    for (int number = 0; number < SESSIONS; number++)
        free(buffers[number]);
    return getchar() != EOF; /* waits for the examiner */
}
