/* TLSF in a fixed pool, and its versions in ESP-IDF and LVGL (policy/pool/tlsf_bsd.md).
 *
 * A block is a header of one word and its contents. The three report different figures, each in its
 * own file. */
#ifndef SIMALLOC_TLSF_POOL_H
#define SIMALLOC_TLSF_POOL_H

#include "families/pool/class_lists.h"
#include "families/pool/pool.h"

struct tlsf_pool {
    struct pool pool;
    struct class_lists lists;
    uint64_t control;       /* bytes in front of the first block */
    uint64_t division;      /* the logarithm of the lists to a doubling */
    uint64_t top;           /* blocks hold less than this */
    uint64_t second;        /* bytes of a second pool; 0: one pool only */
    uint64_t wraps;         /* does a request near the end of a word wrap around? */
    uint64_t cuts_to_class; /* does a request get all that was searched for? */
    uint64_t aligns;        /* is there a memalign? */
    uint64_t node;          /* bytes that the allocator asks of itself first; 0: none */
    uint64_t has_zero;      /* does a request for nothing get an address, outside of the pool? */
    uint32_t zero;          /* the block that stands for it */
    uint64_t area;          /* bytes of all blocks */
    uint64_t used;          /* blocks in use */
    uint64_t most_used, min_free; /* extremes after a call, in bytes */
};

extern const struct parameter tlsf_pool_parameters[];
enum { TLSF_POOL_PARAMETERS = 11 };

/* The entries of struct family for all three. */
#define TLSF_FAMILY                                                                          \
    .state_size = sizeof(struct tlsf_pool), .parameters = tlsf_pool_parameters,              \
    .parameter_count = TLSF_POOL_PARAMETERS, .blocks_an_event = 3,                           \
    .columns = COLUMN_ALIGNMENT, .init = tlsf_pool_init, .check = tlsf_pool_check,           \
    .next_layer = tlsf_pool_next_layer, .report = report, FIGURES(figure_names), POOL_FAMILY

const struct layer *tlsf_pool_next_layer(struct heap *heap);
bool tlsf_pool_init(void *memory);
const char *tlsf_pool_check(const void *memory);

/* The largest request that would be served now; 0: none. */
uint64_t tlsf_pool_largest_request(const struct tlsf_pool *state);
/* Returns the bytes that the largest free block holds, or 0. */
uint64_t tlsf_pool_largest_free(const struct tlsf_pool *state);
/* Returns the bytes that all free blocks hold. */
uint64_t tlsf_pool_free_bytes(const struct tlsf_pool *state);

#endif
