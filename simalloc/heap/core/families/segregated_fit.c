/* Segregated fits: a list of free blocks for each class of sizes, with or without coalescing
 * (simalloc/policy/families/segregated_fit.md). */
#include "index/ranked/ranked_tree.h"
#include "parts/classed_heap.h"

enum list_choice { LIST_FIRST, LIST_BEST };
enum list_order { LIST_LIFO, LIST_SIZE };
enum spacing { SPACING_EQUAL, SPACING_LEA };
enum { MOST_CLASSES = 1024 };

struct segregated_fit {
    struct classed_heap base;
    struct ranked_nodes nodes;
    uint32_t lists[MOST_CLASSES];
    uint64_t entered; /* blocks so far */
    uint64_t fit;     /* enum list_choice */
    uint64_t order;   /* enum list_order */
    uint64_t spacing; /* enum spacing */
    uint64_t classes;
    uint64_t interval;
};

static struct segregated_fit *state_of(struct heap *heap)
{
    return (struct segregated_fit *)heap;
}

/* So many of Lea's classes are each so wide; one more has all that is larger. */
static const struct {
    uint64_t count;
    uint64_t width;
} lea_widths[] = {{64, 8}, {32, 64}, {16, 512}, {8, 4096}, {4, 32768}, {2, 262144}};
enum { LEA_CLASSES = 64 + 32 + 16 + 8 + 4 + 2 + 1 };

static uint64_t lea_class(uint64_t size)
{
    uint64_t first = 0; /* of the classes that are as wide */
    uint64_t above = size - 1; /* the end of the class below the first */
    for (size_t i = 0; i < sizeof lea_widths / sizeof *lea_widths; i++) {
        uint64_t number = above / lea_widths[i].width;
        if (number < lea_widths[i].count)
            return first + number;
        first += lea_widths[i].count;
        above -= lea_widths[i].count * lea_widths[i].width;
    }
    return LEA_CLASSES - 1;
}

static uint64_t class_for(const struct segregated_fit *state, uint64_t size)
{
    if (state->spacing == SPACING_LEA)
        return lea_class(size);
    uint64_t number = size / state->interval;
    return number < state->classes ? number : state->classes - 1;
}

static struct ranked_tree list_of(struct segregated_fit *state, uint64_t number)
{
    return (struct ranked_tree){&state->lists[number], state->nodes.nodes, state->base.heap.blocks};
}

/* Whether blocks are found by size in the index: as the list has them, or as best fit looks. */
static bool is_by_size(const struct segregated_fit *state)
{
    return state->order == LIST_SIZE || state->fit == LIST_BEST;
}

/* The place of a block among the others; the lower the turn, the later it entered. */
static struct rank_key key_of(const struct segregated_fit *state, uint64_t size, uint64_t turn)
{
    return (struct rank_key){is_by_size(state) ? size : 0, turn};
}

static void leave(struct heap *heap, uint32_t id)
{
    struct segregated_fit *state = state_of(heap);
    struct ranked_tree list = list_of(state, class_for(state, heap->blocks[id].size));
    ranked_tree_remove(&list, id);
}

/* Puts a free block into the list of its class. */
static void enter(struct heap *heap, uint32_t id, uint64_t *visited)
{
    struct segregated_fit *state = state_of(heap);
    uint64_t size = heap->blocks[id].size;
    struct ranked_tree list = list_of(state, class_for(state, size));
    struct rank_key key = key_of(state, size, UINT64_MAX - ++state->entered);
    if (state->order == LIST_SIZE) {
        struct ranked behind = ranked_tree_from(&list, key);
        *visited += behind.rank + (behind.block != NO_BLOCK);
    } else {
        ++*visited;
    }
    ranked_tree_insert(&list, id, key);
}

/* Gives the remainder of a block, which is now as large as it is, the block's place. */
static void stay(struct segregated_fit *state, uint32_t id)
{
    uint64_t size = state->base.heap.blocks[id].size;
    struct ranked_tree list = list_of(state, class_for(state, size));
    if (!is_by_size(state)) {
        ranked_tree_resized(&list, id);
        return;
    }
    uint64_t turn = list.nodes[id].key.minor;
    ranked_tree_remove(&list, id);
    ranked_tree_insert(&list, id, key_of(state, size, turn));
}

static uint32_t use(struct heap *heap, uint32_t id, uint64_t size, uint64_t *visited)
{
    struct segregated_fit *state = state_of(heap);
    uint64_t whole = heap->blocks[id].size;
    if (whole - size < state->base.least) {
        leave(heap, id);
        heap_mark(heap, id, STATE_ALLOCATED);
        return id;
    }
    bool stays = state->order == LIST_LIFO &&
                 class_for(state, whole) == class_for(state, whole - size);
    if (!stays)
        leave(heap, id);
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.allocated += size;
    heap->counters.splits++;
    if (stays)
        stay(state, id);
    else
        enter(heap, id, visited);
    return low;
}

static uint32_t find(struct heap *heap, uint64_t size, uint64_t *visited)
{
    struct segregated_fit *state = state_of(heap);
    for (uint64_t number = class_for(state, size); number < state->classes; number++) {
        struct ranked_tree list = list_of(state, number);
        struct ranked found = is_by_size(state)
                                  ? ranked_tree_from(&list, key_of(state, size, 0))
                                  : ranked_tree_first_fit(&list, size);
        *visited += state->fit == LIST_BEST ? ranked_tree_count(&list)
                                            : found.rank + (found.block != NO_BLOCK);
        if (found.block != NO_BLOCK)
            return found.block;
    }
    return NO_BLOCK;
}

DEFINE_CLASSED_FUNCTIONS

static void release(struct heap *heap, uint32_t id)
{
    classed_release(heap, id, &own);
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && ranked_nodes_reserve(&state_of(heap)->nodes, heap->capacity);
}

DEFINE_LAYER(segregated_fit, false, allocate, release, reserve, .resize = resize,
             .take_out = take_out)

static const struct layer *settle(struct heap *heap)
{
    (void)heap;
    return &layer_segregated_fit;
}

static bool init(void *memory)
{
    struct segregated_fit *state = memory;
    if (state->spacing == SPACING_LEA)
        state->classes = LEA_CLASSES;
    return classed_init(memory);
}

static void release_all(void *memory)
{
    ranked_nodes_release(&((struct segregated_fit *)memory)->nodes);
    heap_release(memory);
}

static const char *check(const void *memory)
{
    struct segregated_fit state = *(const struct segregated_fit *)memory;
    uint64_t blocks = 0;
    const char *wrong = heap_check(memory);
    for (uint64_t number = 0; number < state.classes && wrong == NULL; number++) {
        struct ranked_tree list = list_of(&state, number);
        wrong = ranked_tree_check(&list);
        blocks += ranked_tree_count(&list);
    }
    if (wrong == NULL && blocks != state.base.heap.counters.free_blocks)
        wrong = "the lists do not hold exactly the free blocks";
    return wrong;
}

static const char *const list_fit_names[] = {[LIST_FIRST] = "first", [LIST_BEST] = "best"};
static const char *const list_order_names[] = {[LIST_LIFO] = "lifo", [LIST_SIZE] = "size"};
static const char *const spacing_names[] = {[SPACING_EQUAL] = "equal", [SPACING_LEA] = "lea"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct segregated_fit, fit, list_fit_names),
    CHOICE_PARAMETER(struct segregated_fit, order, list_order_names),
    CHOICE_PARAMETER(struct segregated_fit, spacing, spacing_names),
    PARAMETER(struct segregated_fit, classes, 1, MOST_CLASSES),
    UNIT_PARAMETER(struct segregated_fit, interval),
    CLASSED_PARAMETERS(struct segregated_fit, base),
};

const struct family segregated_fit = {
    .name = "segregated fit",
    .state_size = sizeof(struct segregated_fit),
    PARAMETERS(parameters),
    .blocks_an_event = 4,
    .init = init,
    .release = release_all,
    .settle = settle,
    .counts_frees = true,
    .check = check,
};
