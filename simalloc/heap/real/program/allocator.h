/* The malloc of this process, which may be in a library other than the C library. */
#ifndef SIMALLOC_NATIVE_ALLOCATOR_H
#define SIMALLOC_NATIVE_ALLOCATOR_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that the trace calls, instead of the functions that the linker binds. threads.c defines
 * its own calloc and free. `memalign` is NULL if the library of malloc does not have it. */
struct allocator {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *old, size_t size);
    void (*free)(void *object);
    void *(*memalign)(size_t alignment, size_t size);
};

extern struct allocator allocator;

/* Finds the functions. Returns false if malloc is missing. `library` is the library of malloc, and
 * `is_system` is true if that is the C library. */
bool allocator_find(Dl_info *library, bool *is_system);

/* Makes the allocator return its unused memory to the system, if it has a function for that. */
void allocator_give_back(void);

/* Returns the allocator's own count of its bytes from the system, or -1 without such a count. The
 * function is slow, because it may visit every free block. */
int64_t allocator_mapped(void);

#endif
