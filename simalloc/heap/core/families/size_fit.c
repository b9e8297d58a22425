/* Best and worst fit over one list of all free blocks (policy/families/sequential_fit.md). */
#include "index/size/size_index.h"
#include "parts/late_coalescing.h"
#include "replay/replay.h"

struct size_fit {
    struct heap heap;
    struct size_index index; /* equal blocks are in the order of the list */
    uint64_t fit;            /* FIT_BEST or FIT_WORST */
    uint64_t order;          /* enum order */
    struct splitting splitting;
    struct late_coalescing late;
};

ALWAYS_INLINE struct size_fit *state_of(struct heap *heap)
{
    return (struct size_fit *)heap;
}

ALWAYS_INLINE const struct splitting *splitting_of(struct heap *heap)
{
    return &state_of(heap)->splitting;
}

ALWAYS_INLINE struct late_coalescing *late_of(struct heap *heap)
{
    return &state_of(heap)->late;
}

/* The parts of the rule that are constant in each compiled variant. */
struct size_rule {
    enum fit fit;
    enum bin_kind kind;
};

ALWAYS_INLINE struct size_rule rule_of(struct heap *heap)
{
    const struct size_fit *state = state_of(heap);
    return (struct size_rule){(enum fit)state->fit, state->index.tables.kind};
}

ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id, struct size_rule rule)
{
    size_index_remove(&state_of(heap)->index, heap->blocks, id, rule.kind, true);
    heap->counters.free_blocks--;
}

ALWAYS_INLINE void insert(struct heap *heap, uint32_t id, struct size_rule rule)
{
    size_index_insert(&state_of(heap)->index, heap->blocks, id, heap->blocks[id].size, rule.kind,
                      true);
    heap_count_free(heap, id);
}

/* Frees a block and merges it with its free neighbours. */
ALWAYS_INLINE void make_free(struct heap *heap, uint32_t id, take_out_function *take,
                             struct size_rule rule)
{
    coalesce(heap, id, take);
    insert(heap, id, rule);
}

/* Allocates the low `size` bytes of a block whose remainder is still too large for a bin. */
static uint32_t use_large(struct heap *heap, uint32_t id, uint64_t size, enum bin_kind kind)
{
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.splits++;
    heap->counters.allocated += size;
    size_tree_shrink(&state_of(heap)->index.tree, id, !bin_kind_is_list(kind));
    return low;
}

/* Allocates a whole free block. `first` is true if the block is known to be first in its bin. */
ALWAYS_INLINE uint32_t use_whole(struct heap *heap, struct sized found, enum bin_kind kind,
                                 bool first)
{
    size_index_take(&state_of(heap)->index, heap->blocks, found.bin, found.block, kind, true,
                    first);
    heap->counters.allocated += found.size;
    heap->counters.free_blocks--;
    return found.block;
}

/* Allocates the low `size` bytes of a larger free block. The remainder keeps its place in the list.
 * `first` is true if the block is known to be first in its bin. */
ALWAYS_INLINE uint32_t use_low_end(struct heap *heap, struct sized found, uint64_t size,
                                   enum bin_kind kind, bool first)
{
    struct size_index *index = &state_of(heap)->index;
    if (UNLIKELY(found.bin == BINS) && size_index_bin(index, found.size - size) == BINS)
        return use_large(heap, found.block, size, kind);
    size_index_take(index, heap->blocks, found.bin, found.block, kind, true, first);
    heap->counters.allocated += size;
    uint32_t low = heap_cut_low(heap, found.block, size);
    heap->counters.splits++;
    size_index_insert_rest(index, heap->blocks, found.block, found.size - size, kind);
    return low;
}

static uint32_t use(struct heap *heap, uint32_t id, uint64_t size, struct size_rule rule)
{
    uint64_t old = heap->blocks[id].size;
    struct sized found = {id, size_index_bin(&state_of(heap)->index, old), old};
    return old - size < splitting_of(heap)->minimum_split
               ? use_whole(heap, found, rule.kind, false)
               : use_low_end(heap, found, size, rule.kind, false);
}

/* Returns the smallest block with at least `size` bytes, or for worst fit the largest block if it
 * has at least `size` bytes. Of equal blocks, returns the first in the list. */
ALWAYS_INLINE struct sized search(const struct heap *heap, const struct size_index *index,
                                  uint64_t size, enum fit fit)
{
    if (fit == FIT_BEST)
        return size_index_best(index, heap->blocks, size);
    struct sized largest = size_index_largest(index, heap->blocks);
    return largest.size < size ? (struct sized){NO_BLOCK, BINS, 0} : largest;
}

ALWAYS_INLINE uint32_t allocate_free(struct heap *heap, uint64_t size, bool counts,
                                     struct size_rule rule)
{
    const struct size_index *index = &state_of(heap)->index;
    if (counts)
        count_search(heap, heap->counters.free_blocks);
    if (rule.fit == FIT_BEST) {
        struct sized exact = size_index_exact(index, size);
        if (exact.block != NO_BLOCK)
            return use_whole(heap, exact, rule.kind, true);
    }
    struct sized found = search(heap, index, size, rule.fit);
    if (UNLIKELY(found.block == NO_BLOCK))
        return NO_BLOCK;
    /* The block may still fit exactly, because size_index_exact() does not search the tree. */
    if (UNLIKELY(found.size - size < splitting_of(heap)->minimum_split))
        return use(heap, found.block, size, rule);
    return use_low_end(heap, found, size, rule.kind, true);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && size_index_reserve(&state_of(heap)->index, heap->capacity) &&
           late_coalescing_reserve(late_of(heap), heap);
}

DEFINE_COALESCING
DEFINE_LATE_COALESCING

#define DEFINE_BEST(name, kind) \
    DEFINE_COALESCING_LAYER(best_##name, (struct size_rule){FIT_BEST, kind})
#define DEFINE_WORST(name, kind) \
    DEFINE_COALESCING_LAYER(worst_##name, (struct size_rule){FIT_WORST, kind})
FOR_BIN_KINDS(DEFINE_BEST)
FOR_BIN_KINDS(DEFINE_WORST)

/* The kind of bins may change between two batches. */
static const struct layer *next_layer(struct heap *heap)
{
#define LAYER_OF_BEST(name, kind) [kind] = &layer_best_##name,
#define LAYER_OF_WORST(name, kind) [kind] = &layer_worst_##name,
    static const struct layer *const best[] = {FOR_BIN_KINDS(LAYER_OF_BEST)};
    static const struct layer *const worst[] = {FOR_BIN_KINDS(LAYER_OF_WORST)};
    struct size_index *index = &state_of(heap)->index;
    if (!size_index_choose_form(index))
        return NULL;
    if (late_of(heap)->time != COALESCING_IMMEDIATE)
        return &layer_late;
    return (state_of(heap)->fit == FIT_BEST ? best : worst)[index->tables.kind];
}

static bool init(void *memory)
{
    struct size_fit *state = memory;
    struct heap *heap = &state->heap;
    splitting_init(heap, &state->splitting);
    late_coalescing_init(&state->late, heap, &state->splitting);
    return size_index_init(&state->index, heap, heap_unit(heap) | state->splitting.growth,
                           (enum order)state->order, true);
}

static void release_all(void *memory)
{
    struct size_fit *state = memory;
    size_index_release(&state->index);
    late_coalescing_release(&state->late);
}

static bool walks_at_free(const struct heap *heap, uint32_t *start)
{
    *start = NO_BLOCK;
    return ((const struct size_fit *)heap)->order == ORDER_ADDRESS;
}

static bool change_form(void *memory)
{
    struct size_fit *state = memory;
    return bins_change_form(state->index.bins, BINS, &state->index.tables, state->heap.blocks,
                            state->heap.counters.free_blocks);
}

static const char *check(const void *memory)
{
    const struct size_fit *state = memory;
    const char *wrong = heap_check(&state->heap);
    if (wrong == NULL)
        wrong = late_coalescing_check(&state->late, &state->heap);
    if (wrong == NULL)
        wrong = size_index_check(&state->index, state->heap.counters.free_blocks);
    return wrong;
}

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct size_fit, fit, fit_names),
    CHOICE_PARAMETER(struct size_fit, order, order_names),
    SPLITTING_PARAMETERS(struct size_fit, splitting),
    COALESCING_PARAMETER(struct size_fit, late),
};

const struct family size_fit = {
    .name = "size fit",
    FAMILY_OF(struct size_fit),
    .blocks_an_event = 4,
    .walks_at_free = walks_at_free,
    .change_form = change_form,
};
