/* Chains of blocks in order of entry. The links are outside the block table, so that blocks keep
 * their state. */
#ifndef SIMALLOC_CHAIN_H
#define SIMALLOC_CHAIN_H

#include "space/heap.h"
#include "space/table.h"

/* Neighbours of a block in its chain; a block is in at most one chain. */
struct link {
    uint32_t older; /* block before, or NO_BLOCK */
    uint32_t newer;
};

/* Links by block id. One table serves all chains of a heap. */
struct links {
    struct link *of;
    uint32_t capacity;
};

/* A chain without blocks is zero. */
struct chain {
    uint32_t oldest; /* first block of the chain, or NO_BLOCK */
    uint32_t newest;
    uint32_t count;
};

/* Ensures links for all ids of a block table with this capacity. Returns false if memory is
 * exhausted. */
ALWAYS_INLINE bool links_reserve(struct links *links, uint32_t capacity)
{
    return TABLE_FOLLOW(links->of, links->capacity, capacity);
}

ALWAYS_INLINE void links_release(struct links *links)
{
    table_release(links->of);
}

/* Adds a block as the newest. */
ALWAYS_INLINE void chain_push(const struct links *links, struct chain *chain, uint32_t id)
{
    links->of[id] = (struct link){.older = chain->newest, .newer = NO_BLOCK};
    if (chain->newest == NO_BLOCK)
        chain->oldest = id;
    else
        links->of[chain->newest].newer = id;
    chain->newest = id;
    chain->count++;
}

/* Adds a block directly before `newer`, or as the newest block if `newer` is NO_BLOCK. */
ALWAYS_INLINE void chain_insert(const struct links *links, struct chain *chain, uint32_t id,
                                uint32_t newer)
{
    if (newer == NO_BLOCK) {
        chain_push(links, chain, id);
        return;
    }
    uint32_t older = links->of[newer].older;
    links->of[id] = (struct link){older, newer};
    links->of[newer].older = id;
    if (older == NO_BLOCK)
        chain->oldest = id;
    else
        links->of[older].newer = id;
    chain->count++;
}

ALWAYS_INLINE void chain_remove(const struct links *links, struct chain *chain, uint32_t id)
{
    struct link link = links->of[id];
    if (link.older == NO_BLOCK)
        chain->oldest = link.newer;
    else
        links->of[link.older].newer = link.newer;
    if (link.newer == NO_BLOCK)
        chain->newest = link.older;
    else
        links->of[link.newer].older = link.older;
    chain->count--;
}

/* Remove and return the newest or the oldest block. Return NO_BLOCK if the chain is empty. */
ALWAYS_INLINE uint32_t chain_pop_newest(const struct links *links, struct chain *chain)
{
    uint32_t id = chain->newest;
    if (id != NO_BLOCK)
        chain_remove(links, chain, id);
    return id;
}

ALWAYS_INLINE uint32_t chain_pop_oldest(const struct links *links, struct chain *chain)
{
    uint32_t id = chain->oldest;
    if (id != NO_BLOCK)
        chain_remove(links, chain, id);
    return id;
}

#endif
