/* Size classes 16 * 2**N and, between them, 24 * 2**N, numbered from the smallest up. */
#ifndef SIMALLOC_SIZE_CLASS_H
#define SIMALLOC_SIZE_CLASS_H

#include "heap.h"

/* Class 2k holds 16 << k bytes, class 2k + 1 holds 24 << k. */
enum { SMALLEST_CLASS_BITS = 4, SIZE_CLASSES = 2 * 60 };

ALWAYS_INLINE uint64_t class_size(unsigned class)
{
    return UINT64_C(16) << (class / 2) | (class % 2 ? UINT64_C(8) << (class / 2) : 0);
}

ALWAYS_INLINE bool is_three_class(unsigned class)
{
    return class % 2 == 1;
}

/* The smallest class that holds `size`, with or without those three times a power of two. */
ALWAYS_INLINE unsigned class_of(uint64_t size, bool threes)
{
    if (size <= 16)
        return 0;
    unsigned power = 64 - (unsigned)__builtin_clzll(size - 1); /* 2**power >= size > 2**(power-1) */
    unsigned class = 2 * (power - SMALLEST_CLASS_BITS);
    return threes && size <= class_size(class - 1) ? class - 1 : class;
}

/* The class of a block's size, which is that of a class. */
ALWAYS_INLINE unsigned exact_class(uint64_t size)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(size);
    bool three = (size & (size - 1)) != 0; /* 24 << k is 16 << k and half of it */
    return 2 * (power - SMALLEST_CLASS_BITS) + three;
}

#endif
