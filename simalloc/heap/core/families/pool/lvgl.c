/* LVGL's own allocator, with its version of TLSF (simalloc/policy/pool/lvgl.md). */
#include "families/pool/tlsf_pool.h"

static const char *const figure_names[] = {
    "total_size", "free_size", "free_biggest_size", "free_cnt", "used_cnt", "max_used",
    "used_pct", "frag_pct", "largest"};

static void report(const struct heap *heap, uint64_t *figures)
{
    const struct tlsf_pool *state = (const struct tlsf_pool *)heap;
    uint64_t free_blocks = heap->counters.free_blocks, free = tlsf_pool_free_bytes(state);
    uint64_t total = state->area - (state->used + free_blocks) * heap->setting.word;
    uint64_t biggest = tlsf_pool_largest_free(state);
    const uint64_t values[] = {
        total,
        free,
        biggest,
        free_blocks,
        state->used,
        state->most_used,
        total == 0 ? 0 : 100 - 100 * free / total,
        free == 0 ? 0 : 100 - 100 * biggest / free,
        tlsf_pool_largest_request(state),
    };
    memcpy(figures, values, sizeof values);
}

const struct family lvgl = {.name = "lvgl", TLSF_FAMILY};
