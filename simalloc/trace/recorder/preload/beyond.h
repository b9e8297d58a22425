/* Functions of allocators beyond the C standard: C++ operators and functions specific to
 * one allocator. Each function is looked up at its first call. */
#ifndef SIMALLOC_RECORDING_BEYOND_H
#define SIMALLOC_RECORDING_BEYOND_H

#include "malloc.h"

enum beyond_way {
    BEYOND_UNKNOWN,
    BEYOND_MISSING, /* no library defines the function; the standard's function replaces it */
    BEYOND_PASSED,  /* the function calls the standard's function, which is recorded instead */
    BEYOND_OWN,     /* an allocator's own function */
};

struct beyond {
    const char *symbol;
    bool is_operator; /* a C++ operator, which belongs to an allocator only if its library has a
                       * malloc */
    enum beyond_way way;
    void (*function)(void);
    struct module module;
};

enum beyond_way beyond_find(struct beyond *beyond, const void *caller, void (*own)(void));

/* Returns the way to serve a call that `caller` makes to our function `own`. */
static inline enum beyond_way beyond_way(struct beyond *beyond, const void *caller,
                                         void (*own)(void))
{
    enum beyond_way way = __atomic_load_n(&beyond->way, __ATOMIC_ACQUIRE);
    if (__builtin_expect(way == BEYOND_UNKNOWN, false))
        way = beyond_find(beyond, caller, own);
    return way == BEYOND_OWN && is_nested(caller) ? BEYOND_PASSED : way;
}

#define OWN_NAME(name) ((void (*)(void))(name))

/* Common start of all these functions. `call` is the program's function that ours replaces. The
 * function returns here unless the call is to be recorded. A call that is passed on leaves no frame
 * of ours. */
#define BEGIN(result, name, parameters, arguments, operator_of_cpp, without)                        \
    static struct beyond beyond = {.symbol = #name, .is_operator = (operator_of_cpp)};                \
    enum beyond_way way = beyond_way(&beyond, CALLER, OWN_NAME(name));                              \
    result(*call) parameters = (result(*) parameters)beyond.function;                               \
    if (way == BEYOND_PASSED)                                                                       \
        return call arguments;                                                                      \
    if (way == BEYOND_MISSING)                                                                      \
        return without

/* A function that returns a block of `bytes`. */
#define TAKES(name, parameters, arguments, bytes, boundary, zeroes, is_operator)                    \
    EXPORT void *name parameters;                                                                   \
    EXPORT void *name parameters                                                                    \
    {                                                                                               \
        BEGIN(void *, name, parameters, arguments, is_operator,                                     \
              take(bytes, boundary, zeroes, CALLER));                                               \
        const struct module *outer = enter(&beyond.module);                                         \
        void *address = call arguments;                                                             \
        inside = outer;                                                                             \
        if (address != NULL && (zeroes) && (boundary) == 0)                                         \
            record_calloc(address, bytes, &beyond.module, CALLER);                                  \
        else if (address != NULL)                                                                   \
            record_malloc(address, bytes, boundary, &beyond.module, CALLER);                        \
        return address;                                                                             \
    }

/* A function that frees the block `address`. */
#define FREES(name, parameters, arguments, is_operator)                                             \
    EXPORT void name parameters;                                                                    \
    EXPORT void name parameters                                                                     \
    {                                                                                               \
        BEGIN(void, name, parameters, arguments, is_operator, release(address, CALLER));            \
        if (address != NULL)                                                                        \
            record_free(address, &beyond.module);                                                   \
        const struct module *outer = enter(&beyond.module);                                         \
        call arguments;                                                                             \
        inside = outer;                                                                             \
    }

/* A function that resizes the block `address` to `bytes`, and returns its new address. */
#define RESIZES(name, parameters, arguments, bytes)                                                 \
    EXPORT void *name parameters;                                                                   \
    EXPORT void *name parameters                                                                    \
    {                                                                                               \
        BEGIN(void *, name, parameters, arguments, false, resize(address, bytes, CALLER));          \
        if (address != NULL)                                                                        \
            begin_resizing(address, bytes, &beyond.module, CALLER);                                 \
        const struct module *outer = enter(&beyond.module);                                         \
        void *moved = call arguments;                                                               \
        inside = outer;                                                                             \
        if (address != NULL)                                                                        \
            end_resizing(address, bytes, moved, &beyond.module, CALLER);                            \
        else if (moved != NULL)                                                                     \
            record_malloc(moved, bytes, 0, &beyond.module, CALLER);                                 \
        return moved;                                                                               \
    }

/* A function that returns the block through a pointer, and 0 or an error. */
#define TAKES_INTO(name)                                                                            \
    EXPORT int name(void **into, size_t alignment, size_t size);                                    \
    EXPORT int name(void **into, size_t alignment, size_t size)                                     \
    {                                                                                               \
        BEGIN(int, name, (void **, size_t, size_t), (into, alignment, size), false,                 \
              posix_memalign(into, alignment, size));                                               \
        const struct module *outer = enter(&beyond.module);                                         \
        int status = call(into, alignment, size);                                                   \
        inside = outer;                                                                             \
        if (status == 0 && *into != NULL)                                                           \
            record_malloc(*into, size, alignment, &beyond.module, CALLER);                          \
        return status;                                                                              \
    }

#endif
