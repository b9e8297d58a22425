/* All forms of C++'s operators new and delete, under the names of the 64-bit C++ ABI. The operators
 * of libstdc++ and libc++ call malloc and free, so calls are passed on to them. The operators of
 * jemalloc, tcmalloc and mimalloc allocate by themselves. */
#include "beyond.h"

#define NEW(name) TAKES(name, (size_t size), (size), size, 0, false, true)
#define NEW_NOTHROW(name)                                                                           \
    TAKES(name, (size_t size, const void *nothrow), (size, nothrow), size, 0, false, true)
#define NEW_ALIGNED(name)                                                                           \
    TAKES(name, (size_t size, size_t alignment), (size, alignment), size, alignment, false, true)
#define NEW_ALIGNED_NOTHROW(name)                                                                   \
    TAKES(name, (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow),   \
          size, alignment, false, true)

NEW(_Znwm)
NEW(_Znam)
NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
NEW_NOTHROW(_ZnamRKSt9nothrow_t)
NEW_ALIGNED(_ZnwmSt11align_val_t)
NEW_ALIGNED(_ZnamSt11align_val_t)
NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)

#define DELETE(name) FREES(name, (void *address), (address), true)
#define DELETE_BY(name, type) FREES(name, (void *address, type by), (address, by), true)
#define DELETE_ALIGNED(name, type)                                                                  \
    FREES(name, (void *address, type by, size_t alignment), (address, by, alignment), true)
#define DELETE_ALIGNED_NOTHROW(name)                                                                \
    FREES(name, (void *address, size_t alignment, const void *nothrow),                             \
          (address, alignment, nothrow), true)

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE_BY(_ZdlPvm, size_t)
DELETE_BY(_ZdaPvm, size_t)
DELETE_BY(_ZdlPvRKSt9nothrow_t, const void *)
DELETE_BY(_ZdaPvRKSt9nothrow_t, const void *)
DELETE_BY(_ZdlPvSt11align_val_t, size_t)
DELETE_BY(_ZdaPvSt11align_val_t, size_t)
DELETE_ALIGNED(_ZdlPvmSt11align_val_t, size_t)
DELETE_ALIGNED(_ZdaPvmSt11align_val_t, size_t)
DELETE_ALIGNED_NOTHROW(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE_ALIGNED_NOTHROW(_ZdaPvSt11align_val_tRKSt9nothrow_t)
