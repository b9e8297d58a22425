/* The size classes of tcmalloc, and the division of spans into their blocks. */
#ifndef SIMALLOC_TCMALLOC_CLASSES_H
#define SIMALLOC_TCMALLOC_CLASSES_H

#include "space/heap.h"

enum {
    MAX_CLASSES = 128,
    MAX_SLOTS = 64,
    LARGEST = 256 * 1024, /* larger requests get a span each */
    /* requests up to this size are rounded up to multiples of FINE, larger ones to multiples of
     * COARSE */
    FINE_UP_TO = 1024,
    FINE = 8,
    COARSE = 128,
};

struct size_class {
    uint32_t size;
    uint32_t pages;          /* pages of a span */
    uint32_t blocks;         /* blocks of a span */
    uint32_t move;           /* number of blocks that move together */
    uint32_t max_cache_size; /* maximum number of batches in the transfer cache */
};

/* Size classes by number. Class 0 is unused. */
struct size_classes {
    uint32_t count; /* number of classes, including class 0 */
    struct size_class classes[MAX_CLASSES];
    uint8_t fine[FINE_UP_TO / FINE + 1];
    uint8_t coarse[LARGEST / COARSE + 1];
};

void tcmalloc_classes_init(struct size_classes *table, uint64_t page, uint64_t max_moved);

/* Returns the class of a request for up to LARGEST bytes. */
ALWAYS_INLINE uint32_t tcmalloc_class_of(const struct size_classes *table, uint64_t size)
{
    return size <= FINE_UP_TO ? table->fine[(size + FINE - 1) / FINE]
                              : table->coarse[(size + COARSE - 1) / COARSE];
}

#endif
