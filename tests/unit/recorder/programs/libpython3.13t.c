/* Imitates a free-threaded Python in a library, which maps memory by itself. */
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 8 << 20 };

void _Py_DecRefShared(void *object);
void take(void);

void _Py_DecRefShared(void *object)
{
    (void)object;
}

void take(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        memset(memory, 1, BYTES);
}
