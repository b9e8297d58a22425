/* Size classes 16 * 2**N and 24 * 2**N. */
#ifndef SIMALLOC_SIZE_CLASS_H
#define SIMALLOC_SIZE_CLASS_H

#include "space/heap.h"

/* Class k has 16 << k bytes, and class THREES + k has 24 << k bytes. The bits of each kind are in
 * one word. */
enum { SMALLEST_CLASS_BITS = 4, THREES = 64, SIZE_CLASSES = 2 * THREES };

ALWAYS_INLINE bool is_three_class(unsigned class)
{
    return class >= THREES;
}

ALWAYS_INLINE uint64_t class_size(unsigned class)
{
    return (is_three_class(class) ? UINT64_C(24) : UINT64_C(16)) << class % THREES;
}

/* Returns the smallest sufficient class for `size`. Classes 24 << k count only if `threes` is
 * set. */
ALWAYS_INLINE unsigned class_of(uint64_t size, bool threes)
{
    if (size <= 16)
        return 0;
    unsigned power = 64 - (unsigned)__builtin_clzll(size - 1); /* 2**power >= size > 2**(power-1) */
    unsigned class = power - SMALLEST_CLASS_BITS;
    return threes && size <= UINT64_C(12) << class ? THREES + class - 1 : class;
}

/* Returns the class of a block whose size is exactly a class size. */
ALWAYS_INLINE unsigned exact_class(uint64_t size)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(size);
    bool three = (size & (size - 1)) != 0; /* 24 << k has two bits set */
    return power - SMALLEST_CLASS_BITS + (three ? THREES : 0);
}

#endif
