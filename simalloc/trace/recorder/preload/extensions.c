/* Functions that only jemalloc (also with the prefix je_), tcmalloc or mimalloc defines, and
 * functions of newer standards. Two kinds are excluded: functions that only query blocks, and
 * mimalloc's mi_heap_destroy, which frees blocks without naming them. */
#include "beyond.h"

#include <stdlib.h>
#include <string.h>

#define COUNTED (count * size) /* an overflowing product is refused and not recorded */

#define TAKES_SIZE(name, zeroes) TAKES(name, (size_t size), (size), size, 0, zeroes, false)
#define TAKES_COUNT(name, zeroes)                                                                   \
    TAKES(name, (size_t count, size_t size), (count, size), COUNTED, 0, zeroes, false)
#define TAKES_ALIGNED(name)                                                                         \
    TAKES(name, (size_t alignment, size_t size), (alignment, size), size, alignment, false, false)
#define FREES_ONE(name) FREES(name, (void *address), (address), false)
#define FREES_BY(name) FREES(name, (void *address, size_t by), (address, by), false)
#define FREES_BY_TWO(name)                                                                          \
    FREES(name, (void *address, size_t size, size_t by), (address, size, by), false)
#define RESIZES_TO(name) RESIZES(name, (void *address, size_t size), (address, size), size)
#define RESIZES_TO_COUNT(name)                                                                      \
    RESIZES(name, (void *address, size_t count, size_t size), (address, count, size), COUNTED)

/* C23 and BSD. */
FREES_BY(free_sized)
FREES_BY_TWO(free_aligned_sized)
FREES_ONE(cfree)
RESIZES_TO(reallocf)

/* jemalloc. The lowest bits of its flags contain the logarithm of the alignment. */
enum { LOGARITHM = 0x3f, ZERO = 0x40 };

static inline size_t aligned_by(int flags)
{
    return (flags & LOGARITHM) == 0 ? 0 : (size_t)1 << (flags & LOGARITHM);
}

/* Resizes a block in place to at least `size` and up to `size + extra` bytes, if possible. Returns
 * the new size. */
#define RESIZES_IN_PLACE(name)                                                                      \
    EXPORT size_t name(void *address, size_t size, size_t extra, int flags);                        \
    EXPORT size_t name(void *address, size_t size, size_t extra, int flags)                         \
    {                                                                                               \
        BEGIN(size_t, name, (void *, size_t, size_t, int), (address, size, extra, flags), false,    \
              next.usable_size == NULL ? 0 : next.usable_size(address));                            \
        begin_resizing(address, size, &beyond.module, CALLER);                                      \
        const struct module *outer = enter(&beyond.module);                                         \
        size_t now = call(address, size, extra, flags);                                             \
        inside = outer;                                                                             \
        if (now >= size)                                                                            \
            end_resizing(address, size, address, &beyond.module, CALLER);                           \
        else                                                                                        \
            record_realloc_end(SPECIAL_FAILED, address, &beyond.module);                            \
        return now;                                                                                 \
    }

#define JEMALLOC(prefix)                                                                            \
    TAKES(prefix##mallocx, (size_t size, int flags), (size, flags), size, aligned_by(flags),        \
          (flags & ZERO) != 0, false)                                                               \
    RESIZES(prefix##rallocx, (void *address, size_t size, int flags), (address, size, flags), size) \
    RESIZES_IN_PLACE(prefix##xallocx)                                                               \
    FREES(prefix##dallocx, (void *address, int flags), (address, flags), false)                     \
    FREES(prefix##sdallocx, (void *address, size_t size, int flags), (address, size, flags), false)

JEMALLOC()
JEMALLOC(je_)
TAKES_SIZE(je_malloc, false)
TAKES_COUNT(je_calloc, true)
RESIZES_TO(je_realloc)
FREES_ONE(je_free)
TAKES_INTO(je_posix_memalign)
TAKES_ALIGNED(je_aligned_alloc)
TAKES_ALIGNED(je_memalign)

/* tcmalloc. */
#define TAKES_NOTHROW(name)                                                                         \
    TAKES(name, (size_t size, const void *nothrow), (size, nothrow), size, 0, false, false)
#define TAKES_NEW_ALIGNED(name)                                                                     \
    TAKES(name, (size_t size, size_t alignment), (size, alignment), size, alignment, false, false)
#define TAKES_NEW_ALIGNED_NOTHROW(name)                                                             \
    TAKES(name, (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow),   \
          size, alignment, false, false)
#define FREES_NOTHROW(name)                                                                         \
    FREES(name, (void *address, const void *nothrow), (address, nothrow), false)
#define FREES_ALIGNED_NOTHROW(name)                                                                 \
    FREES(name, (void *address, size_t alignment, const void *nothrow),                             \
          (address, alignment, nothrow), false)

TAKES_SIZE(tc_malloc, false)
TAKES_SIZE(tc_malloc_skip_new_handler, false)
TAKES_COUNT(tc_calloc, true)
RESIZES_TO(tc_realloc)
FREES_ONE(tc_free)
FREES_BY(tc_free_sized)
FREES_ONE(tc_cfree)
TAKES_INTO(tc_posix_memalign)
TAKES_ALIGNED(tc_memalign)
TAKES_SIZE(tc_valloc, false)
TAKES_SIZE(tc_pvalloc, false)
TAKES_SIZE(tc_new, false)
TAKES_SIZE(tc_newarray, false)
TAKES_NOTHROW(tc_new_nothrow)
TAKES_NOTHROW(tc_newarray_nothrow)
TAKES_NEW_ALIGNED(tc_new_aligned)
TAKES_NEW_ALIGNED(tc_newarray_aligned)
TAKES_NEW_ALIGNED_NOTHROW(tc_new_aligned_nothrow)
TAKES_NEW_ALIGNED_NOTHROW(tc_newarray_aligned_nothrow)
FREES_ONE(tc_delete)
FREES_ONE(tc_deletearray)
FREES_BY(tc_delete_sized)
FREES_BY(tc_deletearray_sized)
FREES_NOTHROW(tc_delete_nothrow)
FREES_NOTHROW(tc_deletearray_nothrow)
FREES_BY(tc_delete_aligned)
FREES_BY(tc_deletearray_aligned)
FREES_BY_TWO(tc_delete_sized_aligned)
FREES_BY_TWO(tc_deletearray_sized_aligned)
FREES_ALIGNED_NOTHROW(tc_delete_aligned_nothrow)
FREES_ALIGNED_NOTHROW(tc_deletearray_aligned_nothrow)

/* mimalloc. Each function also has a variant for a heap that the program has created. */
#define OPEN(...) __VA_ARGS__

#define MI_TAKES(name, parameters, arguments, bytes, boundary, zeroes)                              \
    TAKES(mi_##name, (OPEN parameters), (OPEN arguments), bytes, boundary, zeroes, false)           \
    TAKES(mi_heap_##name, (void *heap, OPEN parameters), (heap, OPEN arguments), bytes, boundary,   \
          zeroes, false)
#define MI_RESIZES(name, parameters, arguments, bytes)                                              \
    RESIZES(mi_##name, (void *address, OPEN parameters), (address, OPEN arguments), bytes)          \
    RESIZES(mi_heap_##name, (void *heap, void *address, OPEN parameters),                           \
            (heap, address, OPEN arguments), bytes)

MI_TAKES(malloc, (size_t size), (size), size, 0, false)
MI_TAKES(malloc_small, (size_t size), (size), size, 0, false)
MI_TAKES(zalloc, (size_t size), (size), size, 0, true)
MI_TAKES(mallocn, (size_t count, size_t size), (count, size), COUNTED, 0, false)
MI_TAKES(calloc, (size_t count, size_t size), (count, size), COUNTED, 0, true)
MI_TAKES(malloc_aligned, (size_t size, size_t alignment), (size, alignment), size, alignment, false)
MI_TAKES(zalloc_aligned, (size_t size, size_t alignment), (size, alignment), size, alignment, true)
MI_TAKES(malloc_aligned_at, (size_t size, size_t alignment, size_t at), (size, alignment, at), size,
         alignment, false)
MI_TAKES(zalloc_aligned_at, (size_t size, size_t alignment, size_t at), (size, alignment, at), size,
         alignment, true)
MI_TAKES(calloc_aligned, (size_t count, size_t size, size_t alignment), (count, size, alignment),
         COUNTED, alignment, true)
MI_TAKES(calloc_aligned_at, (size_t count, size_t size, size_t alignment, size_t at),
         (count, size, alignment, at), COUNTED, alignment, true)
MI_RESIZES(realloc, (size_t size), (size), size)
MI_RESIZES(reallocf, (size_t size), (size), size)
MI_RESIZES(rezalloc, (size_t size), (size), size)
MI_RESIZES(reallocn, (size_t count, size_t size), (count, size), COUNTED)
MI_RESIZES(recalloc, (size_t count, size_t size), (count, size), COUNTED)
MI_RESIZES(realloc_aligned, (size_t size, size_t alignment), (size, alignment), size)
MI_RESIZES(rezalloc_aligned, (size_t size, size_t alignment), (size, alignment), size)
MI_RESIZES(realloc_aligned_at, (size_t size, size_t alignment, size_t at), (size, alignment, at),
           size)
MI_RESIZES(rezalloc_aligned_at, (size_t size, size_t alignment, size_t at), (size, alignment, at),
           size)
MI_RESIZES(recalloc_aligned, (size_t count, size_t size, size_t alignment),
           (count, size, alignment), COUNTED)
MI_RESIZES(recalloc_aligned_at, (size_t count, size_t size, size_t alignment, size_t at),
           (count, size, alignment, at), COUNTED)
RESIZES_TO_COUNT(mi_reallocarray)
RESIZES_TO(mi_new_realloc)
RESIZES_TO_COUNT(mi_new_reallocn)
TAKES_SIZE(mi_zalloc_small, true)
TAKES_SIZE(mi_new, false)
TAKES_COUNT(mi_new_n, false)
TAKES_SIZE(mi_new_nothrow, false)
TAKES_NEW_ALIGNED(mi_new_aligned)
TAKES_NEW_ALIGNED(mi_new_aligned_nothrow)
TAKES(mi_heap_alloc_new, (void *heap, size_t size), (heap, size), size, 0, false, false)
TAKES(mi_heap_alloc_new_n, (void *heap, size_t count, size_t size), (heap, count, size), COUNTED, 0,
      false, false)
TAKES_INTO(mi_posix_memalign)
TAKES_ALIGNED(mi_memalign)
TAKES_ALIGNED(mi_aligned_alloc)
TAKES_SIZE(mi_valloc, false)
TAKES_SIZE(mi_pvalloc, false)
FREES_ONE(mi_free)
FREES_ONE(mi_cfree)
FREES_BY(mi_free_size)
FREES_BY(mi_free_aligned)
FREES_BY_TWO(mi_free_size_aligned)
