/* jemalloc's own statistics, and the locations of objects. */
#ifndef SIMALLOC_JEMALLOC_REPORT_H
#define SIMALLOC_JEMALLOC_REPORT_H

#include "families/jemalloc/threads.h"

enum figure {
    ALLOCATED,
    ACTIVE_BYTES,
    METADATA,
    RESIDENT,
    MAPPED,
    RETAINED_BYTES,
    PDIRTY,
    PMUZZY,
    BASE,
    INTERNAL,
    TCACHE_BYTES,
};

static const char *const figure_names[] = {
    [ALLOCATED] = "allocated", [ACTIVE_BYTES] = "active",     [METADATA] = "metadata",
    [RESIDENT] = "resident",   [MAPPED] = "mapped",           [RETAINED_BYTES] = "retained",
    [PDIRTY] = "pdirty",       [PMUZZY] = "pmuzzy",           [BASE] = "base",
    [INTERNAL] = "internal",   [TCACHE_BYTES] = "tcache_bytes",
};

void jemalloc_report(const struct heap *heap, uint64_t *figures);

/* Returns the arena and mapping of an object, and its offset in the mapping. */
void jemalloc_locate(const struct heap *heap, uint32_t block, struct location *location);

uint64_t jemalloc_count_cached(const void *memory);

const char *jemalloc_check(const void *memory);

#endif
