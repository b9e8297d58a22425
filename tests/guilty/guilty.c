/* `temp_buffer` is innocent and `remember_session` guilty, and both allocate through `xmalloc`. */
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 2000 };

static void *sessions[SESSIONS];

static void *xmalloc(size_t size)
{
    void *block = malloc(size);
    if (block == NULL)
        abort();
    return memset(block, 1, size);
}

__attribute__((noinline)) static void temp_buffer(int number)
{
    char *buffer = xmalloc(3000 + (size_t)number % 7 * 100);
    buffer[0] = (char)number;
    free(buffer);
}

__attribute__((noinline)) static void remember_session(int number)
{
    sessions[number] = xmalloc(100 + (size_t)number % 10); /* guilty */
}

int main(void)
{
    for (int number = 0; number < SESSIONS; number++) {
        temp_buffer(number);
        remember_session(number);
    }
    return 0;
}
