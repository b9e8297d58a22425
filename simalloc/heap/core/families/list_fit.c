/* First and next fit over one list of all free blocks (policy/families/sequential_fit.md). */
#include "index/list/fit_list.h"
#include "parts/late_coalescing.h"
#include "replay/replay.h"

struct sequential_fit {
    struct list_fit list;
    uint64_t fit;   /* enum fit */
    uint64_t order; /* enum order */
    struct splitting splitting;
    struct late_coalescing late;
};

ALWAYS_INLINE struct list_fit *state_of(struct heap *heap)
{
    return (struct list_fit *)heap;
}

ALWAYS_INLINE const struct splitting *splitting_of(const struct heap *heap)
{
    return &((const struct sequential_fit *)heap)->splitting;
}

ALWAYS_INLINE struct late_coalescing *late_of(struct heap *heap)
{
    return &((struct sequential_fit *)heap)->late;
}

ALWAYS_INLINE struct list_rule rule_of(const struct heap *heap)
{
    return ((const struct list_fit *)heap)->rule;
}

ALWAYS_INLINE void insert(struct heap *heap, uint32_t id, struct list_rule rule)
{
    list_insert(state_of(heap), id, rule);
    heap_count_free(heap, id);
}

ALWAYS_INLINE void take_out_at(struct heap *heap, struct seat seat, struct list_rule rule)
{
    list_remove(state_of(heap), seat, rule);
    heap->counters.free_blocks--;
}

ALWAYS_INLINE void take_out(struct heap *heap, uint32_t id, struct list_rule rule)
{
    take_out_at(heap, list_seat(state_of(heap), id, rule), rule);
}

/* Merges a block into a free neighbour, whose place in address order it takes. Returns false if no
 * neighbour is free. The rover moves as if the neighbours had left and the merged block had
 * entered. */
ALWAYS_INLINE bool enter_neighbour(struct heap *heap, uint32_t id, struct list_rule rule)
{
    struct list_fit *state = state_of(heap);
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    bool joins_below = heap_is_free(heap, below);
    bool joins_above = heap_is_free(heap, above);
    if (!joins_below && !joins_above)
        return false;
    struct seat seat = list_seat(state, joins_below ? below : above, rule);
    if (joins_below && joins_above) {
        take_out(heap, above, rule);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
        /* take_out() may have changed the position of `below` in the tree */
        seat = list_seat(state, below, rule);
    }
    list_pass(state, seat, rule);
    heap->counters.coalescings++;
    if (joins_below) {
        heap_join_next(heap, below);
        list_change(state, seat, GREW_UP, rule);
    } else {
        heap_join_previous(heap, above);
        list_change(state, seat, GREW_DOWN, rule);
    }
    return true;
}

/* Allocates the low `size` bytes of a free block. A remainder that is split off keeps its place. */
ALWAYS_INLINE uint32_t use_at(struct heap *heap, struct seat seat, uint64_t size,
                              struct list_rule rule)
{
    struct list_fit *state = state_of(heap);
    uint64_t old = list_size(state, seat, rule);
    if (old - size < splitting_of(heap)->minimum_split) {
        heap->counters.allocated += old;
        take_out_at(heap, seat, rule);
        return seat.block;
    }
    heap->counters.allocated += size;
    uint32_t low = heap_cut_low(heap, seat.block, size);
    heap->counters.splits++;
    list_change(state, seat, GAVE_LOW_END, rule);
    return low;
}

ALWAYS_INLINE uint32_t use(struct heap *heap, uint32_t id, uint64_t size, struct list_rule rule)
{
    return use_at(heap, list_seat(state_of(heap), id, rule), size, rule);
}

ALWAYS_INLINE uint32_t allocate_free(struct heap *heap, uint64_t size, bool counts,
                                     struct list_rule rule)
{
    struct list_fit *state = state_of(heap);
    uint64_t visited;
    struct seat seat = list_search(state, size, &visited, rule);
    if (counts)
        count_search(heap, visited);
    if (UNLIKELY(seat.block == NO_BLOCK))
        return NO_BLOCK;
    list_rove(state, seat.block, rule); /* removing the block advances the rover */
    return use_at(heap, seat, size, rule);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && block_list_reserve(&state_of(heap)->tree) &&
           late_coalescing_reserve(late_of(heap), heap);
}

/* Frees a block and merges it with its free neighbours. */
ALWAYS_INLINE void make_free(struct heap *heap, uint32_t id, take_out_function *take,
                             struct list_rule rule)
{
    if (rule.order == ORDER_ADDRESS && enter_neighbour(heap, id, rule))
        return;
    coalesce(heap, id, take);
    insert(heap, id, rule);
}

DEFINE_COALESCING
DEFINE_LATE_COALESCING

#define DEFINE_RULE(name, ...) DEFINE_COALESCING_LAYER(name, (struct list_rule){__VA_ARGS__})

DEFINE_RULE(first_lifo, FIT_FIRST, ORDER_LIFO, FORM_TREE)
DEFINE_RULE(first_fifo, FIT_FIRST, ORDER_FIFO, FORM_TREE)
DEFINE_RULE(first_address, FIT_FIRST, ORDER_ADDRESS, FORM_TREE)
DEFINE_RULE(next_lifo, FIT_NEXT, ORDER_LIFO, FORM_TREE)
DEFINE_RULE(next_fifo, FIT_NEXT, ORDER_FIFO, FORM_TREE)
DEFINE_RULE(next_address, FIT_NEXT, ORDER_ADDRESS, FORM_TREE)
DEFINE_RULE(flat_first_fifo, FIT_FIRST, ORDER_FIFO, FORM_FLAT)
DEFINE_RULE(flat_first_address, FIT_FIRST, ORDER_ADDRESS, FORM_FLAT)
DEFINE_RULE(aged_first_lifo, FIT_FIRST, ORDER_LIFO, FORM_AGED)
DEFINE_RULE(aged_first_fifo, FIT_FIRST, ORDER_FIFO, FORM_AGED)
DEFINE_RULE(walked_first_lifo, FIT_FIRST, ORDER_LIFO, FORM_WALK)
DEFINE_RULE(walked_first_fifo, FIT_FIRST, ORDER_FIFO, FORM_WALK)
DEFINE_RULE(walked_next_lifo, FIT_NEXT, ORDER_LIFO, FORM_WALK)
DEFINE_RULE(walked_next_fifo, FIT_NEXT, ORDER_FIFO, FORM_WALK)
DEFINE_RULE(walked_next_address, FIT_NEXT, ORDER_ADDRESS, FORM_WALK)

static const struct layer *layer_of(struct list_rule rule)
{
    static const struct layer *const of[FORMS][2][3] = {
        [FORM_TREE] = {[FIT_FIRST] = {&layer_first_lifo, &layer_first_fifo, &layer_first_address},
                       [FIT_NEXT] = {&layer_next_lifo, &layer_next_fifo, &layer_next_address}},
        [FORM_FLAT] = {[FIT_FIRST] = {NULL, &layer_flat_first_fifo, &layer_flat_first_address}},
        [FORM_AGED] = {[FIT_FIRST] = {&layer_aged_first_lifo, &layer_aged_first_fifo}},
        [FORM_WALK] = {[FIT_FIRST] = {&layer_walked_first_lifo, &layer_walked_first_fifo},
                       [FIT_NEXT] = {&layer_walked_next_lifo, &layer_walked_next_fifo,
                                     &layer_walked_next_address}},
    };
    return of[rule.form][rule.fit][rule.order];
}

/* The form of the list may change between two batches. */
static const struct layer *next_layer(struct heap *heap)
{
    if (!list_choose_form(state_of(heap)))
        return NULL;
    return late_of(heap)->time == COALESCING_IMMEDIATE ? layer_of(state_of(heap)->rule)
                                                       : &layer_late;
}

static bool init(void *memory)
{
    struct sequential_fit *state = memory;
    struct heap *heap = &state->list.heap;
    splitting_init(heap, &state->splitting);
    late_coalescing_init(&state->late, heap, &state->splitting);
    if (!block_list_init(&state->list.tree, heap,
                                             heap_unit(heap) | state->splitting.growth))
        return false;
    list_init(&state->list, (enum fit)state->fit, (enum order)state->order);
    return true;
}

static void release_all(void *memory)
{
    struct sequential_fit *state = memory;
    list_release(&state->list);
    late_coalescing_release(&state->late);
}

static const char *check(const void *memory)
{
    const struct sequential_fit *state = memory;
    const struct heap *heap = &state->list.heap;
    const char *wrong = heap_check(heap);
    if (wrong == NULL)
        wrong = late_coalescing_check(&state->late, heap);
    if (wrong == NULL)
        wrong = list_check(&state->list);
    return wrong;
}

static bool walks_at_free(const struct heap *heap, uint32_t *start)
{
    const struct list_fit *state = (const struct list_fit *)heap;
    bool roves = state->rule.fit == FIT_NEXT;
    *start = !roves ? NO_BLOCK : state->rule.form == FORM_WALK ? state->walk.front : state->rover;
    return state->rule.order == ORDER_ADDRESS;
}

static bool change_form(void *memory)
{
    return list_change_form(memory);
}

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct sequential_fit, fit, fit_names),
    CHOICE_PARAMETER(struct sequential_fit, order, order_names),
    SPLITTING_PARAMETERS(struct sequential_fit, splitting),
    COALESCING_PARAMETER(struct sequential_fit, late),
};

const struct family VARIANT(list_fit) = {
    .name = "list fit",
    FAMILY_OF(struct sequential_fit),
    .blocks_an_event = 4,
    .walks_at_free = walks_at_free,
    .change_form = change_form,
};
