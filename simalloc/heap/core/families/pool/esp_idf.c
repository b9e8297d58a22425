/* ESP-IDF's heap: multi_heap over its own version of TLSF (simalloc/policy/pool/esp_idf.md). */
#include "families/pool/tlsf_pool.h"

static const char *const figure_names[] = {
    "total_free_bytes", "total_allocated_bytes", "largest_free_block", "minimum_free_bytes",
    "allocated_blocks", "free_blocks", "total_blocks", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct tlsf_pool *state = (const struct tlsf_pool *)heap;
    uint64_t allocated = heap->counters.allocated, free_blocks = heap->counters.free_blocks;
    const uint64_t values[] = {
        state->pool.capacity - state->control - allocated,
        allocated - state->used * heap->setting.word,
        tlsf_pool_largest_request(state),
        state->min_free - state->control,
        state->used,
        free_blocks,
        state->used + free_blocks,
        tlsf_pool_largest_request(state),
    };
    memcpy(figures, values, sizeof values);
}

const struct family esp_idf = {.name = "esp idf", TLSF_FAMILY};
