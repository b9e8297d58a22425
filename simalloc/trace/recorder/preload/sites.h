/* Call sites: where in the program an allocation was asked for, and by what path. A site is a node
 * of a tree: a return address, and the site that called from there; 0 is the root. */
#ifndef SIMALLOC_RECORDING_SITES_H
#define SIMALLOC_RECORDING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

enum { SITE_PATH_BYTES = 255, SITE_BYTES = SITE_PATH_BYTES + 32, MOST_DEPTH = 256 };

/* The last stack of a stream, outermost first, with the sites. Most stacks begin as the last. */
struct trail {
    uint32_t depth;
    uint32_t epoch; /* of libraries, when it was taken */
    uint32_t sites[MOST_DEPTH];
    uintptr_t addresses[MOST_DEPTH];
    uintptr_t taken[MOST_DEPTH]; /* the stack just taken, innermost first */
};

/* Gets ready, once in a process; false if there is no memory. The process has one thread then. */
bool sites_begin(void);

/* Forgets all numbers. No other thread may run. */
void sites_forget(void);

/* Numbers the site of `depth` addresses at most from which `caller`, a return address, was called.
 * Of depth 1, a call by a C++ operator new counts as its caller's. What is new is described in the
 * stream. With `here` false, the stack is another's by now, and `caller` is all that is known.
 * Returns 0 if there are too many. */
uint32_t site_of(struct stream *stream, struct trail *trail, const void *caller, size_t depth,
                 bool here);

/* Likewise, of places that the trail has `taken`. */
uint32_t site_of_places(struct stream *stream, struct trail *trail, size_t count);

#endif
