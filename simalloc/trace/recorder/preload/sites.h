/* Call sites: places in the program that allocate, with their call paths. A site is a node of a
 * tree and consists of a return address and the site of the calling function. The root is 0. */
#ifndef SIMALLOC_RECORDING_SITES_H
#define SIMALLOC_RECORDING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

enum { SITE_PATH_BYTES = 255, SITE_BYTES = SITE_PATH_BYTES + 32, MAX_DEPTH = 256 };

/* The last stack of a stream, outermost first, with its sites. A new stack usually shares its
 * outermost addresses with the last stack. */
struct trail {
    uint32_t depth;
    uint32_t epoch; /* epoch of the loaded libraries when the stack was read */
    uint32_t sites[MAX_DEPTH];
    uintptr_t addresses[MAX_DEPTH];
    uintptr_t taken[MAX_DEPTH]; /* new stack, innermost first */
};

/* Initialises the sites, unless they are ready. Call under process_lock(). Returns false when memory
 * is exhausted. */
bool sites_begin(void);

/* Forgets all numbers. No other thread may run. */
void sites_forget(void);

/* Returns the number of the site with a call path of at most `depth` return addresses from `caller`
 * outward, or 0 if the numbers are exhausted. With depth 1, a call by a C++ operator new counts as
 * its caller's. Describes a new site in the stream. If `here` is false, the stack has changed, and
 * only `caller` is known. */
uint32_t site_of(struct stream *stream, struct trail *trail, const void *caller, size_t depth,
                 bool here);

/* Returns the number of the site of the `count` places in the trail's `taken`, or 0 if the numbers
 * are exhausted. */
uint32_t site_of_places(struct stream *stream, struct trail *trail, size_t count);

#endif
