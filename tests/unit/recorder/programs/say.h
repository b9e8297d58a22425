/* A test program's own record of its calls, which is not in the heap and is written at the end. It
 * consists of lines "OP ADDRESS SIZE ALIGNMENT" with OP m, c, f or r; a realloc has its new
 * address. */
#ifndef SAY_H
#define SAY_H

#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only calls between a block of this size and its free are compared. */
enum { MARK = 1234567 };

struct said {
    char op;
    void *address;
    size_t size;
    size_t alignment;
};

struct account {
    struct said *said;
    size_t count;
};

static inline struct account account_open(size_t most)
{
    void *memory = mmap(NULL, most * sizeof(struct said), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (struct account){memory, 0};
}

static inline void say(struct account *account, char op, void *address, size_t size,
                       size_t alignment)
{
    account->said[account->count++] = (struct said){op, address, size, alignment};
}

static inline void account_write(const struct account *account)
{
    for (size_t i = 0; i < account->count; i++) {
        const struct said *said = &account->said[i];
        char line[100];
        int length = snprintf(line, sizeof line, "%c %" PRIuPTR " %zu %zu\n", said->op,
                              (uintptr_t)said->address, said->size, said->alignment);
        if (write(STDOUT_FILENO, line, (size_t)length) != length)
            abort();
    }
}

#endif
