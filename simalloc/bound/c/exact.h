/* Exact search for a placement of buffers below a capacity. simalloc/bound/exact/reference.py
 * defines the search in plain Python. */
#ifndef SIMALLOC_EXACT_H
#define SIMALLOC_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outcome { REFUTED, FITS, UNDECIDED, NO_MEMORY };

/* Number of nodes between two calls of `goes_on`. */
enum { EXACT_STRIDE = 64 };

/* Buffers to be placed. Buffer b has the pieces with index in [pieces[b], pieces[b + 1]) and the
 * bans with index in [bans[b], bans[b + 1]). Piece p covers the sections in [piece_first[p],
 * piece_last[p]). Ban i of buffer b forbids each address x of b with under[i] < x - (address of
 * ban_other[i]) < over[i]. Without bans, buffers that overlap in time are placed one above the
 * other. */
struct exact_buffers {
    uint32_t count;
    uint32_t sections;
    uint32_t all_pieces;      /* number of pieces */
    const int64_t *size;      /* by buffer: bytes, at least 1 */
    const int64_t *alignment; /* by buffer: bytes, at least 1 */
    const uint32_t *pieces;
    const uint32_t *piece_first;
    const uint32_t *piece_last;
    const int64_t *piece_low; /* by piece: bytes from the address of the buffer to the piece */
    const int64_t *room;      /* by piece: bytes, rounded up to the grain */
    const int64_t *padding;   /* by piece: bytes by which `room` exceeds the piece */
    const uint32_t *twins;    /* by buffer: number that interchangeable buffers share */
    const uint32_t *rank;     /* by buffer: order of placement at equal bounds, ascending */
    const uint32_t *bans;
    const uint32_t *ban_other;
    const int64_t *under, *over; /* by ban: bytes */
    int64_t step; /* bytes; with bans, divides all addresses of some optimum placement */
};

/* Bound of a buffer before it was raised. */
struct exact_raise {
    uint32_t buffer;
    int64_t low;
};

/* Lists of numbers. List i is items[start[i]] to items[start[i + 1] - 1]. */
struct exact_lists {
    size_t *start;
    uint32_t *items;
};

struct exact {
    struct exact_buffers buffers;
    int64_t capacity;
    uint64_t limit;
    bool (*goes_on)(void *context); /* called every EXACT_STRIDE nodes; false stops the search */
    void *context;
    /* By buffer: its address if placed, otherwise a lower bound of its address. */
    int64_t *low;
    uint64_t *failures; /* by section: number of refutations */
    uint64_t nodes;

    bool stopped;
    bool out_of_memory;
    bool *placed;              /* by buffer */
    uint32_t *owner;           /* by piece: its buffer */
    bool *piece_placed;        /* by piece: placed[owner] */
    int64_t *piece_bound;      /* by piece: low[owner] + piece_low */
    bool *changed;             /* by section: true if the bound of a buffer has risen */
    uint32_t *unplaced;        /* by section: number of unplaced pieces */
    int64_t *lows;             /* sorted bounds of the unplaced pieces of the present section */
    uint32_t changed_from;     /* all changed sections are in [changed_from, changed_to) */
    uint32_t changed_to;
    uint32_t *first, *last;    /* by buffer: its sections are in [first, last) */
    struct exact_lists members; /* by section: its pieces, the latest unplaced pieces in front */
    struct exact_lists beside;  /* by buffer: all buffers that overlap it in time */
    uint32_t *parts;            /* stack of the parts of all open nodes */
    struct exact_raise *raises; /* stack of bounds to be restored */
    size_t raise_count, raise_room;
};

/* Searches for a placement. `low` is the placement if the result is FITS. */
enum outcome exact_search(struct exact *exact);

#endif
