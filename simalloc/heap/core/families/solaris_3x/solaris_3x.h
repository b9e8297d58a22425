/* Declarations shared by the parts of Solaris' -lmalloc (policy/families/solaris_3x.md). */
#ifndef SIMALLOC_SOLARIS_3X_H
#define SIMALLOC_SOLARIS_3X_H

#include "index/list/roving_list.h"
#include "replay/replay.h"

enum { CELL_SIZES = 6, NO_HOLDING = UINT32_MAX };

/* A holding block, which contains cells of one size and is in the ring of that size. */
struct holding {
    uint32_t size_number;
    uint32_t before;
    uint32_t after;
    uint32_t freed; /* newest freed cell, or NO_BLOCK; linked by `family_data` */
    uint32_t uncut; /* block of the cells that were never used, in state cached, or NO_BLOCK */
};

struct solaris_3x {
    /* An allocated cell's `family_data` is the number of its holding block plus 1. Other allocated
     * blocks have 0. */
    struct heap heap;
    uint64_t cells;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least; /* minimum bytes of a remainder */
    uint64_t unit;  /* bytes of two words */
    uint64_t header;
    uint64_t tag; /* bytes of the table block at the end of memory */
    struct roving_list queue;
    uint32_t head;   /* rover of the queue */
    /* block behind the last block that can be free: the table at the end of memory, or the edge */
    uint32_t end;
    uint64_t visited; /* blocks visited in the current event */
    bool has_table;
    uint32_t first[CELL_SIZES]; /* first holding block of each ring, or NO_HOLDING */
    struct holding *holdings;
    uint32_t holding_count;
    uint32_t holding_capacity;
};

/* queue.c: the queue, which is merged while it is searched. */

/* Removes a block from the queue. */
void solaris_3x_leave(struct solaris_3x *state, uint32_t id);

/* Inserts a block at the head of the queue. */
void solaris_3x_enter(struct solaris_3x *state, uint32_t id);

/* Joins a block with all free blocks that follow it in memory. */
void solaris_3x_absorb(struct solaris_3x *state, uint32_t id);

/* Allocates the low end of a block that is not in the queue. The remainder becomes the queue's
 * head. */
void solaris_3x_cut(struct solaris_3x *state, uint32_t id, uint64_t size);

/* Allocates the low end of a block in the queue. The remainder keeps its position, which becomes
 * the head. */
uint32_t solaris_3x_use(struct solaris_3x *state, uint32_t id, uint64_t size);

/* Searches from the head, and joins each visited block with the free blocks behind it. Returns the
 * first block that then has `size` bytes, or NO_BLOCK. */
uint32_t solaris_3x_search(struct solaris_3x *state, uint64_t size);

#endif
