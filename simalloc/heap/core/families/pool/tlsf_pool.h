/* TLSF in a fixed pool, with its versions in ESP-IDF and LVGL (policy/pool/tlsf_bsd.md).
 *
 * A block is a header of one word and a payload. The three allocators report different figures,
 * each in its own file. */
#ifndef SIMALLOC_TLSF_POOL_H
#define SIMALLOC_TLSF_POOL_H

#include "families/pool/class_lists.h"
#include "families/pool/pool.h"

struct tlsf_pool {
    struct pool pool;
    struct class_lists lists;
    uint64_t control;       /* bytes before the first block */
    uint64_t division;      /* log2 of the number of lists per doubling */
    uint64_t top;           /* upper bound of a payload, exclusive, in bytes */
    uint64_t second;        /* bytes of a second pool, or 0 without one */
    uint64_t wraps;         /* 1 if a request close to the largest word wraps around */
    /* 1 if a request receives the size that was searched for, rounded up to a list */
    uint64_t cuts_to_class;
    uint64_t aligns;        /* 1 if the allocator has a memalign */
    uint64_t node;          /* bytes that the allocator first allocates for itself, or 0 */
    uint64_t has_zero;      /* 1 if a request for 0 bytes gets an address outside the pool */
    /* block that represents the object of a request for 0 bytes, or NO_BLOCK */
    uint32_t zero;
    uint64_t area;          /* bytes of all blocks */
    uint64_t used;          /* number of allocated blocks */
    uint64_t most_used, min_free; /* extremes after a call, in bytes */
};

extern const struct parameter tlsf_pool_parameters[];
enum { TLSF_POOL_PARAMETERS = 11 };

/* Members of struct family that the three allocators share. */
#define TLSF_FAMILY                                                                          \
    .state_size = sizeof(struct tlsf_pool), .parameters = tlsf_pool_parameters,              \
    .parameter_count = TLSF_POOL_PARAMETERS, .blocks_an_event = 3,                           \
    .columns = COLUMN_ALIGNMENT, .init = tlsf_pool_init, .check = tlsf_pool_check,           \
    .next_layer = tlsf_pool_next_layer, .report = report, FIGURES(figure_names), POOL_FAMILY

const struct layer *tlsf_pool_next_layer(struct heap *heap);
bool tlsf_pool_init(void *memory);
const char *tlsf_pool_check(const void *memory);

/* Returns the largest request that would succeed, or 0. */
uint64_t tlsf_pool_largest_request(const struct tlsf_pool *state);
/* Returns the payload of the largest free block, or 0. */
uint64_t tlsf_pool_largest_free(const struct tlsf_pool *state);
/* Returns the total payload of all free blocks. */
uint64_t tlsf_pool_free_bytes(const struct tlsf_pool *state);

#endif
