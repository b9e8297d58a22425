/* How jemalloc flushes what a thread's cache has not used for a while. */
#ifndef SIMALLOC_JEMALLOC_COLLECT_H
#define SIMALLOC_JEMALLOC_COLLECT_H

#include "families/jemalloc/tcache.h"

/* Flushes some of what was not used since the last collection. */
void jemalloc_collect(struct jemalloc *state, struct thread *thread);

#endif
