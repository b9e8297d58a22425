/* Exact search for a placement of buffers below a capacity; simalloc/bound/exact/reference.py
 * defines it in plain Python. */
#ifndef SIMALLOC_EXACT_H
#define SIMALLOC_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum outcome { REFUTED, FITS, UNDECIDED, NO_MEMORY };

/* Nodes between two calls of `goes_on`. */
enum { EXACT_STRIDE = 64 };

/* The buffers. Piece p of a buffer covers the sections piece_first[p] up to before piece_last[p];
 * buffer b owns the pieces pieces[b] up to before pieces[b + 1], and its bans are bans[b] up to
 * before bans[b + 1]. Ban i of buffer b allows no address x of b with
 * under[i] < x - (address of ban_other[i]) < over[i]. Without bans, buffers that meet are located
 * one above the other. */
struct exact_buffers {
    uint32_t count;
    uint32_t sections;
    uint32_t all_pieces;      /* number of pieces */
    const int64_t *size;      /* bytes, at least 1 */
    const int64_t *alignment; /* bytes, at least 1 */
    const uint32_t *pieces;
    const uint32_t *piece_first;
    const uint32_t *piece_last;
    const int64_t *piece_low; /* bytes from the buffer's address to the piece */
    const int64_t *room;      /* bytes of the piece, rounded up to the grain */
    const int64_t *padding;   /* bytes by which the room exceeds the piece */
    const uint32_t *twins;    /* equal for interchangeable buffers */
    const uint32_t *rank;     /* the lower is placed first at equal bounds */
    const uint32_t *bans;
    const uint32_t *ban_other;
    const int64_t *under, *over; /* bytes */
    int64_t step; /* bytes; with bans, some best placement has only multiples as addresses */
};

/* The bound of a buffer before it was raised. */
struct exact_raise {
    uint32_t buffer;
    int64_t low;
};

/* A list of numbers for each of many: list i is items[start[i]] up to before items[start[i + 1]]. */
struct exact_lists {
    size_t *start;
    uint32_t *items;
};

struct exact {
    struct exact_buffers buffers;
    int64_t capacity;
    uint64_t limit;
    bool (*goes_on)(void *context); /* called at times; false stops the search */
    void *context;
    int64_t *low;       /* by buffer: its address if placed, otherwise the bound of its address */
    uint64_t *failures; /* by section: refutations */
    uint64_t nodes;

    bool stopped;
    bool out_of_memory;
    bool *placed;              /* by buffer */
    uint32_t *owner;           /* by piece: its buffer */
    bool *piece_placed;        /* by piece: placed[owner] */
    int64_t *piece_bound;      /* by piece: low[owner] + piece_low */
    bool *changed;             /* by section: some bound of its buffers has risen */
    uint32_t *unplaced;        /* by section: number of its pieces that are not placed */
    int64_t *lows;             /* bounds of the unplaced pieces of the section at hand, sorted */
    uint32_t changed_from;     /* the changed sections are within changed_from .. changed_to - 1 */
    uint32_t changed_to;
    uint32_t *first, *last;    /* by buffer: it is live in some of the sections first .. last - 1 */
    struct exact_lists members; /* by section: pieces; who was unplaced last is in front */
    struct exact_lists beside;  /* by buffer: who is ever live together with it */
    uint32_t *parts;            /* stack of the parts of all open nodes */
    struct exact_raise *raises; /* stack of bounds to restore */
    size_t raise_count, raise_room;
};

/* Searches; `low` is a placement if that FITS. */
enum outcome exact_search(struct exact *exact);

#endif
