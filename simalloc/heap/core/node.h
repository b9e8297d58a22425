/* A node of the free index, and the searches and shifts within it.
 *
 * With AVX2 all entries of a node are looked at together and nothing branches on where they are;
 * without it they are looked at one by one. Both give the same answers. */
#ifndef SIMALLOC_NODE_H
#define SIMALLOC_NODE_H

#include "heap.h"

enum { NODE_CAPACITY = 32 };
#define NO_NODE UINT32_MAX

struct node {
    /* In a leaf entry i is a block: its size, its key, its id. In an inner node it is a child: the
     * largest size below it, the key of its last block, its number, the blocks below it. */
    uint64_t size[NODE_CAPACITY]; /* 0 from entry `count` on */
    uint64_t key[NODE_CAPACITY];
    uint32_t item[NODE_CAPACITY];
    uint32_t weight[NODE_CAPACITY]; /* not used in a leaf */
    uint32_t parent;                /* NO_NODE in the root; while unused, the next unused node */
    uint16_t place;                 /* this node's entry in its parent */
    uint8_t count;                  /* entries 0 .. count-1; 0 only in an empty root */
    bool leaf;
};

#ifdef SIMALLOC_AVX2
#include "node_avx2.h"
#else
#include "node_portable.h"
#endif

/* How many blocks stand in and below the entries before `entry`. */
ALWAYS_INLINE uint32_t node_weight_before(const struct node *node, uint32_t entry)
{
    uint32_t weight = 0;
    for (uint32_t i = 0; i < NODE_CAPACITY; i++)
        weight += i < entry ? node->weight[i] : 0;
    return weight;
}

#endif
