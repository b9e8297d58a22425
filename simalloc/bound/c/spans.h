/* Event until which each address is free, in spans that tile all addresses from 0 on.
 *
 * The spans are in order, in chunks of at most 64. Each chunk has an upper bound of the end of its
 * free time, so that a search skips chunks whose addresses are taken or needed soon. A search that
 * finds nothing in a chunk makes the bound exact. With n spans, a search takes O(n / 64) time at
 * best and O(n) in the worst case. All other operations take O(log n) time, apart from moves of up
 * to 64 spans and, occasionally, of the table of chunks. */
#ifndef SIMALLOC_SPANS_H
#define SIMALLOC_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_SPANS = 64 };

/* Value of `until` for an address that is taken. Any other value is the event at which the address
 * is taken next. For a lent address, it is the bitwise complement of the value after its return. */
#define TAKEN INT64_MIN

struct span_chunk {
    uint32_t count;
    int64_t latest; /* upper bound of `until` */
    uint64_t start[CHUNK_SPANS];
    int64_t until[CHUNK_SPANS];
};

struct spans {
    size_t chunks;
    size_t room;
    struct span_chunk **chunk; /* chunks, each with at least one span */
    uint64_t *first;           /* start of the first span of each chunk */
};

struct span_place {
    size_t chunk;
    uint32_t index;
};

/* Initialises one span of all addresses. All functions that return bool return false if memory is
 * exhausted. spans_destroy() must be called in any case. */
bool spans_init(struct spans *spans, int64_t until);
void spans_destroy(struct spans *spans);
bool spans_set(struct spans *spans, uint64_t from, uint64_t to, int64_t until);
/* Lend free addresses, or return lent addresses. */
bool spans_lend(struct spans *spans, uint64_t from, uint64_t to);
void spans_return(struct spans *spans, uint64_t from, uint64_t to);
/* Returns the lowest address from which `size` bytes are free until an event. */
uint64_t spans_find(struct spans *spans, int64_t until, uint64_t size);
/* Makes `at` the start of a span. Returns false if memory is exhausted. */
bool spans_cut(struct spans *spans, uint64_t at);
/* Returns the place of the span that contains `at`. */
struct span_place spans_at(const struct spans *spans, uint64_t at);
/* Advances the place to the next span. Returns false after the last span. */
bool spans_next(const struct spans *spans, struct span_place *place);

#endif
