/* The allocator that the program would have had without us: the next one in the loader's order. */
#ifndef SIMALLOC_RECORDING_NEXT_H
#define SIMALLOC_RECORDING_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mapping of a library's code; both 0 if unknown. */
struct module {
    uintptr_t start;
    size_t length;
};

struct module module_with(const void *address);

/* Returns the library of an allocator's function. For the C library, which never calls its own malloc
 * by name, both fields are 0. */
struct module allocator_with(void *function);

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
    size_t (*usable_size)(void *address); /* NULL if the allocator lacks one */
    struct module module; /* module of malloc (allocator_with) */
    struct module recorder; /* the recorder's own library */
};

/* All NULL before ask_for_next(). */
extern struct allocator next;

/* Set once for a library that was loaded into a running process: the loader searches it last, and
 * the program's calls reach it through rewritten entries (takeover.h). */
extern bool is_late;

/* Returns the program's function of this name that a function of ours replaces, or NULL. */
void *function_behind(const char *name);

/* Looks up the next allocator, once, and ends the process if none exists. Returns false during the
 * look-up, which may itself allocate. */
bool ask_for_next(void);

static inline bool next_is_known(void)
{
    return __builtin_expect(next.malloc != NULL, true) || ask_for_next();
}

/* The library that this thread's outermost recorded call has entered, or NULL. */
extern __thread const struct module *inside;

/* True for a call that an allocator makes while it serves a call that is recorded: mimalloc's
 * realloc calls its mi_malloc and mi_free. Where such a call is its last, `caller` is ours. A signal
 * handler may call from elsewhere meanwhile. */
static inline bool is_nested(const void *caller)
{
    return __builtin_expect(inside != NULL, false) &&
           ((uintptr_t)caller - inside->start < inside->length ||
            (uintptr_t)caller - next.recorder.start < next.recorder.length);
}

/* Enters the library that serves a call, unless it is the C library; the call's end restores
 * `inside` to what this returns. */
static inline const struct module *enter(const struct module *module)
{
    const struct module *outer = inside;
    if (__builtin_expect(module->length != 0, false))
        inside = module;
    return outer;
}

/* A small buffer serves requests during the look-up. Its blocks are zeroed and never freed. They
 * belong to the loader, not to the program, and are not recorded. */
void *bootstrap_malloc(size_t size);
bool is_bootstrap(const void *address);

/* Returns the number of readable bytes from a bootstrap block's address on. */
size_t bootstrap_bytes_from(const void *address);

#endif
