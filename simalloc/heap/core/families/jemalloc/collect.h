/* Garbage collection of jemalloc's thread caches, which flushes objects that were not used since
 * the last collection. */
#ifndef SIMALLOC_JEMALLOC_COLLECT_H
#define SIMALLOC_JEMALLOC_COLLECT_H

#include "families/jemalloc/tcache.h"

/* Flushes some of the objects that were not used since the last collection. */
void jemalloc_collect(struct jemalloc *state, struct thread *thread);

#endif
