/* Going through a placement in time: is it one, and what does its heap look like? */
#ifndef SIMALLOC_VERIFY_H
#define SIMALLOC_VERIFY_H

#include <stdbool.h>

#include "lives.h"

/* A placement, and the state of its heap after the processed events. The heap is [0, break), where
 * the break is the highest end of an object so far. The live objects and the free blocks between
 * them tile the heap. */
struct sweep {
    const struct lives *lives;
    const int64_t *address; /* by life */
    const uint32_t *rank;   /* by life: its address's among the different ones, ascending */
    uint32_t ranks;
    int64_t *heap;        /* by event, to be filled: the break after it */
    int64_t *free_blocks; /* by event, to be filled: the free blocks after it */

    size_t done;         /* events gone through */
    uint32_t overlapped; /* a life that was put on `overlaps`, which is live; NONE as long as none is */
    uint32_t overlaps;
    uint64_t growths;
    uint64_t splits;
    uint64_t coalescings;

    uint64_t blocks;    /* free blocks there are */
    uint64_t edge;      /* the break */
    uint32_t *standing; /* by rank: the life that is live at this address, if one is */
    uint64_t *bits[6];  /* taken ranks; a bit of a higher level: 64 bits below are not all 0 */
    uint32_t levels;
};

/* False if memory is exhausted; sweep_end() is to be called in any case. */
bool sweep_begin(struct sweep *sweep);
/* Goes through at most `events` more events, until two objects overlap. */
void sweep_advance(struct sweep *sweep, size_t events);
void sweep_end(struct sweep *sweep);

#endif
