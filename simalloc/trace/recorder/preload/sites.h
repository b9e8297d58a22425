/* Call sites: places in the program that allocate, and the call paths to them. A site is a node of
 * a tree: a return address, and the site that called from there; 0 is the root. */
#ifndef SIMALLOC_RECORDING_SITES_H
#define SIMALLOC_RECORDING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

enum { SITE_PATH_BYTES = 255, SITE_BYTES = SITE_PATH_BYTES + 32, MAX_DEPTH = 256 };

/* The last stack of a stream, outermost first, with the sites. Most stacks begin as the last. */
struct trail {
    uint32_t depth;
    uint32_t epoch; /* epoch of the loaded libraries when it was taken */
    uint32_t sites[MAX_DEPTH];
    uintptr_t addresses[MAX_DEPTH];
    uintptr_t taken[MAX_DEPTH]; /* new stack, innermost first */
};

/* Initialises the sites, unless they are ready. Call under process_lock(). Returns false when memory
 * is exhausted. */
bool sites_begin(void);

/* Forgets all numbers. No other thread may run. */
void sites_forget(void);

/* Returns the number of the site of at most `depth` addresses from which `caller`, a return
 * address, was called, or 0 if the numbers are exhausted. With depth 1, a call by a C++ operator
 * new counts as its caller's. New sites are described in the stream. If `here` is false, the stack
 * has changed, and only `caller` is known. */
uint32_t site_of(struct stream *stream, struct trail *trail, const void *caller, size_t depth,
                 bool here);

/* Returns the number of the site with the places that the trail has `taken`. */
uint32_t site_of_places(struct stream *stream, struct trail *trail, size_t count);

#endif
