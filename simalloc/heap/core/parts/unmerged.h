/* Freed blocks that are kept as they are, in a list for each exact size up to one, the newest first.
 *
 * They are cached: free to the program and not to their neighbours. */
#ifndef SIMALLOC_UNMERGED_H
#define SIMALLOC_UNMERGED_H

#include "index/chain.h"

struct unmerged {
    struct chain *of;  /* by size */
    uint64_t most;     /* the largest size */
    uint64_t blocks;   /* number of blocks in all lists */
};

/* Makes empty lists for sizes up to `most`; false: no memory. */
ALWAYS_INLINE bool unmerged_init(struct unmerged *lists, uint64_t most)
{
    lists->most = most;
    lists->of = table_make(sizeof *lists->of, (uint32_t)most + 1);
    return lists->of != NULL;
}

ALWAYS_INLINE void unmerged_release(struct unmerged *lists)
{
    table_release(lists->of);
}

/* Puts a block into the list of its size, which there is; it is not counted as allocated before. */
ALWAYS_INLINE void unmerged_put(struct heap *heap, const struct links *links,
                                struct unmerged *lists, uint32_t id)
{
    heap->blocks[id].index_slot = STATE_CACHED;
    heap->counters.cached_blocks++;
    chain_push(links, &lists->of[heap->blocks[id].size], id);
    lists->blocks++;
}

/* Takes the newest block of a size out of its list, allocated but not counted; NO_BLOCK if the list
 * is empty. */
ALWAYS_INLINE uint32_t unmerged_take(struct heap *heap, const struct links *links,
                                     struct unmerged *lists, uint64_t size)
{
    uint32_t id = size > lists->most ? NO_BLOCK : chain_pop_newest(links, &lists->of[size]);
    if (id != NO_BLOCK) {
        heap->blocks[id].index_slot = STATE_ALLOCATED;
        heap->counters.cached_blocks--;
        lists->blocks--;
    }
    return id;
}

#endif
