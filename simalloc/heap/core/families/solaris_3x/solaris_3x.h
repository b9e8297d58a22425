/* Declarations shared by the parts of Solaris' -lmalloc (policy/families/solaris_3x.md). */
#ifndef SIMALLOC_SOLARIS_3X_H
#define SIMALLOC_SOLARIS_3X_H

#include "index/list/roving_list.h"
#include "replay/replay.h"

enum { CELL_SIZES = 6, NO_HOLDING = UINT32_MAX };

/* A holding block: its cells, and its neighbours in the circle of its size. */
struct holding {
    uint32_t size_number;
    uint32_t before;
    uint32_t after;
    uint32_t freed; /* freed cells, chained by `family_data`, the newest first; or NO_BLOCK */
    uint32_t uncut; /* cells never used, one cached block; or NO_BLOCK */
};

struct solaris_3x {
    /* An allocated cell's `family_data` is its holding block's number plus one, else 0. */
    struct heap heap;
    uint64_t cells;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least;  /* minimum bytes of a remainder */
    uint64_t unit;   /* two words */
    uint64_t header;
    uint64_t tag;    /* bytes of the table block where memory ends */
    struct roving_list queue;
    uint32_t head;   /* rover of the queue */
    uint32_t end;    /* block behind the last that may be free: the table where memory ends, or the
                      * edge */
    uint64_t visited; /* blocks visited in this event */
    bool has_table;
    uint32_t first[CELL_SIZES]; /* first holding block of each circle, or NO_HOLDING */
    struct holding *holdings;
    uint32_t holding_count;
    uint32_t holding_capacity;
};

/* queue.c: the queue, which is merged while it is searched. */

/* Takes a block out of the queue. */
void solaris_3x_leave(struct solaris_3x *state, uint32_t id);

/* Puts a block into the queue as its head. */
void solaris_3x_enter(struct solaris_3x *state, uint32_t id);

/* Joins the free blocks that follow a block in memory to it. */
void solaris_3x_absorb(struct solaris_3x *state, uint32_t id);

/* Allocates the low end of a block that is in no queue; the rest is the queue's head. */
void solaris_3x_cut(struct solaris_3x *state, uint32_t id, uint64_t size);

/* Allocates the low end of a block of the queue; the rest keeps its place, as the head. */
uint32_t solaris_3x_use(struct solaris_3x *state, uint32_t id, uint64_t size);

/* Returns the first block from the head on that has `size` bytes once the free blocks behind it are
 * joined, or NO_BLOCK. */
uint32_t solaris_3x_search(struct solaris_3x *state, uint64_t size);

#endif
