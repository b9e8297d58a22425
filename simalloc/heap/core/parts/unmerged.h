/* Lists of freed blocks that stay unmerged, one list for each exact size up to a maximum, with the
 * newest block first.
 *
 * The blocks are cached: free for the program, but not for coalescing. */
#ifndef SIMALLOC_UNMERGED_H
#define SIMALLOC_UNMERGED_H

#include "index/chain.h"

struct unmerged {
    struct chain *of;  /* by size */
    uint64_t most;     /* maximum size */
    uint64_t blocks;   /* number of blocks in all lists */
};

/* Creates empty lists for sizes up to `most`. Returns false if memory is exhausted. */
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

/* Inserts a block into the list of its size, which must exist. The block must not be counted as
 * allocated. */
ALWAYS_INLINE void unmerged_put(struct heap *heap, const struct links *links,
                                struct unmerged *lists, uint32_t id)
{
    heap->blocks[id].index_slot = STATE_CACHED;
    heap->counters.cached_blocks++;
    chain_push(links, &lists->of[heap->blocks[id].size], id);
    lists->blocks++;
}

/* Removes the newest block of a size from its list. Its state becomes STATE_ALLOCATED, but its
 * bytes are not counted as allocated. Returns NO_BLOCK if the list is empty. */
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
