/* Imitates a free-threaded Python, which refuses to use malloc for its objects. With arguments, it
 * then executes the program that they name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void _Py_DecRefShared(void *object);

void _Py_DecRefShared(void *object)
{
    (void)object;
}

int main(int count, char **words)
{
    const char *chosen = getenv("PYTHONMALLOC");
    if (chosen != NULL && strcmp(chosen, "malloc") == 0) {
        fputs("Fatal Python error: unknown allocator\n", stderr);
        return 1;
    }
    free(malloc(1234567));
    if (count > 1)
        execvp(words[1], words + 1);
    return 0;
}
