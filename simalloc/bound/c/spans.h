/* The event until which each address is free: spans that tile all addresses from 0 on.
 *
 * The spans are in order, in chunks of at most 64. Each chunk has an upper bound of the end of its
 * free time, so that a search passes over addresses that are taken or wanted soon. A search that
 * finds nothing in a chunk makes the bound exact. A search is O(spans / 64) at best and O(spans) at
 * worst. All other operations are O(log spans), apart from moves of up to 64 spans and,
 * occasionally, of the chunks' table. */
#ifndef SIMALLOC_SPANS_H
#define SIMALLOC_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHUNK_SPANS = 64 };

/* The address is taken. Any other value is the event from which on it is, or, bitwise not, of an
 * address that is lent: what the value is to be when it is returned. */
#define TAKEN INT64_MIN

struct span_chunk {
    uint32_t count;
    int64_t latest; /* no `until` is larger */
    uint64_t start[CHUNK_SPANS];
    int64_t until[CHUNK_SPANS];
};

struct spans {
    size_t chunks;
    size_t room;
    struct span_chunk **chunk; /* none is empty */
    uint64_t *first;           /* start of the first span of each chunk */
};

struct span_place {
    size_t chunk;
    uint32_t index;
};

/* One span of all addresses. False if memory is exhausted, as with all that return a bool;
 * spans_destroy() is to be called in any case. */
bool spans_init(struct spans *spans, int64_t until);
void spans_destroy(struct spans *spans);
bool spans_set(struct spans *spans, uint64_t from, uint64_t to, int64_t until);
/* Lends addresses that are free, or takes back those that were lent. */
bool spans_lend(struct spans *spans, uint64_t from, uint64_t to);
void spans_return(struct spans *spans, uint64_t from, uint64_t to);
/* The lowest address from which on `size` bytes are free until an event. */
uint64_t spans_find(struct spans *spans, int64_t until, uint64_t size);
/* Makes `at` the start of a span. */
bool spans_cut(struct spans *spans, uint64_t at);
/* The span that `at` is in. */
struct span_place spans_at(const struct spans *spans, uint64_t at);
/* Goes to the next span; false behind the last one. */
bool spans_next(const struct spans *spans, struct span_place *place);

#endif
