/* The allocator that the program would use without the recorder: the next one in the loader's
 * order. */
#ifndef SIMALLOC_RECORDING_NEXT_H
#define SIMALLOC_RECORDING_NEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mapping of a library's code; both 0 if unknown. */
struct module {
    uintptr_t start;
    size_t length;
};

struct module module_with(const void *address);

/* Returns the library of an allocator's function. Both fields are 0 for the C library, which never
 * calls its own malloc by name. */
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
    size_t (*usable_size)(void *address); /* NULL if the allocator has no such function */
    struct module module; /* module of malloc (allocator_with) */
    struct module recorder; /* the recorder's own library */
};

/* All members are NULL before ask_for_next(). */
extern struct allocator next;

/* True for a library that was loaded into a running process. The loader searches such a library
 * last, and the program's calls reach it through rewritten entries (takeover.h). */
extern bool is_late;

/* Returns the program's function of this name, which a function of ours replaces, or NULL. */
void *function_behind(const char *name);

/* Looks up the next allocator at the first call, and ends the process if none exists. Returns false
 * during the look-up, which may itself allocate. */
bool ask_for_next(void);

static inline bool next_is_known(void)
{
    return __builtin_expect(next.malloc != NULL, true) || ask_for_next();
}

/* Number of calls of begin_use() in this thread, without those that end_use() has ended. Code that
 * uses memory of the recording runs between the two; a signal handler may interrupt it and record
 * too. The memory may be released only if the number is 0 in all threads. */
extern __thread volatile sig_atomic_t uses;

static inline void begin_use(void)
{
    uses++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void end_use(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uses--;
}

/* Library that this thread's outermost recorded call has entered, or NULL. */
extern __thread const struct module *inside;

/* Returns true for a call that an allocator makes while it serves a recorded call. For example,
 * mimalloc's realloc calls its mi_malloc and mi_free. If such a call is a tail call, `caller` is an
 * address in the recorder. A signal handler may interrupt the allocator and call from elsewhere. */
static inline bool is_nested(const void *caller)
{
    return __builtin_expect(inside != NULL, false) &&
           ((uintptr_t)caller - inside->start < inside->length ||
            (uintptr_t)caller - next.recorder.start < next.recorder.length);
}

/* Enters the library that serves a call, unless it is the C library. Returns the previous value of
 * `inside`, which must be restored at the end of the call. */
static inline const struct module *enter(const struct module *module)
{
    const struct module *outer = inside;
    if (__builtin_expect(module->length != 0, false))
        inside = module;
    return outer;
}

/* A small buffer that serves requests during the look-up. Its blocks are zeroed, never freed and
 * not recorded, because they belong to the loader. */
void *bootstrap_malloc(size_t size);
bool is_bootstrap(const void *address);

/* Returns the number of readable bytes from an address in a bootstrap block to the end of the
 * buffer. */
size_t bootstrap_bytes_from(const void *address);

#endif
