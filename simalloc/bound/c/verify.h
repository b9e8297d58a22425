/* Verification of a placement over time, and figures of its heap. */
#ifndef SIMALLOC_VERIFY_H
#define SIMALLOC_VERIFY_H

#include <stdbool.h>

#include "lives.h"

/* A placement, and the state of its heap after the processed events. The heap is [0, break), where
 * the break is the highest end of an object so far. The live objects and the free blocks between
 * them tile the heap. */
struct sweep {
    const struct lives *lives;
    const int64_t *address; /* by life: its address */
    /* By life: rank of its address among all different addresses, ascending. */
    const uint32_t *rank;
    uint32_t ranks;
    int64_t *heap;        /* by event, output: the break after the event */
    int64_t *free_blocks; /* by event, output: number of free blocks after the event */

    size_t done;         /* number of processed events */
    /* Life that overlaps the live life `overlaps`, or NONE if no lives overlap. */
    uint32_t overlapped;
    uint32_t overlaps;
    uint64_t growths;
    uint64_t splits;
    uint64_t coalescings;

    uint64_t blocks;    /* number of free blocks */
    uint64_t edge;      /* break */
    uint32_t *standing; /* by rank: life that is live at this address; valid only for taken ranks */
    /* Bitmap of taken ranks; a bit of a higher level is set if its 64 bits in the level below are
     * not all 0. */
    uint64_t *bits[6];
    uint32_t levels;
};

/* Initialises the verification. Returns false if memory is exhausted. sweep_end() must be called in
 * any case. */
bool sweep_begin(struct sweep *sweep);
/* Processes at most `events` further events, until two objects overlap. */
void sweep_advance(struct sweep *sweep, size_t events);
void sweep_end(struct sweep *sweep);

#endif
