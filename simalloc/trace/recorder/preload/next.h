/* The allocator that the program would have had without us: the next one in the loader's order. */
#ifndef SIMALLOC_RECORDING_NEXT_H
#define SIMALLOC_RECORDING_NEXT_H

#include <stdbool.h>
#include <stddef.h>

struct allocator {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *address, size_t size);
    void (*free)(void *address);
    int (*posix_memalign)(void **address, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    size_t (*usable_size)(void *address); /* NULL if the allocator has none of its own */
};

/* All NULL until the loader has been asked. */
extern struct allocator next;

/* Asks the loader, once, and ends the process if there is no next allocator. Returns false while
 * it is being asked: looking up a name may itself allocate. */
bool ask_for_next(void);

static inline bool next_is_known(void)
{
    return __builtin_expect(next.malloc != NULL, true) || ask_for_next();
}

/* Meanwhile there is a small buffer, whose blocks are zeroed and never freed. They are the
 * loader's, not the program's, and are not recorded. */
void *bootstrap_malloc(size_t size);
bool is_bootstrap(const void *address);

/* How many bytes can be read from a bootstrap block's address on. */
size_t bootstrap_bytes_from(const void *address);

#endif
