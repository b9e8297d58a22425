/* The size classes of tcmalloc: which sizes there are, and how blocks of each come in spans. */
#ifndef SIMALLOC_TCMALLOC_CLASSES_H
#define SIMALLOC_TCMALLOC_CLASSES_H

#include "space/heap.h"

enum {
    MAX_CLASSES = 128,
    MAX_SLOTS = 64,
    LARGEST = 256 * 1024, /* larger requests have spans of their own */
    FINE_UP_TO = 1024,    /* requests are rounded up to multiples of FINE, above this of COARSE */
    FINE = 8,
    COARSE = 128,
};

struct size_class {
    uint32_t size;
    uint32_t pages;       /* pages of a span */
    uint32_t blocks;      /* blocks of a span */
    uint32_t move;        /* number of blocks that move at once */
    uint32_t max_cache_size; /* maximum number of such batches between the threads */
};

/* Class 0 is unused; the classes begin with 1. */
struct size_classes {
    uint32_t count; /* class 0 included */
    struct size_class classes[MAX_CLASSES];
    uint8_t fine[FINE_UP_TO / FINE + 1];
    uint8_t coarse[LARGEST / COARSE + 1];
};

void tcmalloc_classes_init(struct size_classes *table, uint64_t page, uint64_t max_moved);

/* The class of a request for up to LARGEST bytes. */
ALWAYS_INLINE uint32_t tcmalloc_class_of(const struct size_classes *table, uint64_t size)
{
    return size <= FINE_UP_TO ? table->fine[(size + FINE - 1) / FINE]
                              : table->coarse[(size + COARSE - 1) / COARSE];
}

#endif
