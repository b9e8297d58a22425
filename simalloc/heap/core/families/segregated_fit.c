/* Segregated fits: a list of free blocks for each class of sizes, with or without coalescing
 * (simalloc/policy/families/segregated_fit.md). */
#include "index/ranked/ranked_tree.h"
#include "parts/merging.h"
#include "replay/replay.h"

enum list_choice { LIST_FIRST, LIST_BEST };
enum list_order { LIST_LIFO, LIST_SIZE };
enum spacing { SPACING_EQUAL, SPACING_LEA };
enum { MOST_CLASSES = 1024 };

struct segregated_fit {
    struct heap heap;
    struct ranked_nodes nodes;
    uint32_t lists[MOST_CLASSES];
    uint64_t entered; /* blocks so far */
    uint64_t fit;     /* enum list_choice */
    uint64_t order;   /* enum list_order */
    uint64_t spacing; /* enum spacing */
    uint64_t classes;
    uint64_t interval;
    uint64_t coalescing; /* enum merging */
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t count_tail;
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
    return (struct ranked_tree){&state->lists[number], state->nodes.nodes, state->heap.blocks};
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

static void leave(struct segregated_fit *state, uint32_t id)
{
    struct ranked_tree list = list_of(state, class_for(state, state->heap.blocks[id].size));
    ranked_tree_remove(&list, id);
}

/* Puts a free block into the list of its class; answers how many blocks were looked at. */
static uint64_t enter(struct segregated_fit *state, uint32_t id)
{
    uint64_t size = state->heap.blocks[id].size;
    struct ranked_tree list = list_of(state, class_for(state, size));
    struct rank_key key = key_of(state, size, UINT64_MAX - ++state->entered);
    uint64_t visited = 1;
    if (state->order == LIST_SIZE) {
        struct ranked behind = ranked_tree_from(&list, key);
        visited = behind.rank + (behind.block != NO_BLOCK);
    }
    ranked_tree_insert(&list, id, key);
    return visited;
}

/* Gives the remainder of a block, which is now as large as it is, the block's place. */
static void stay(struct segregated_fit *state, uint32_t id)
{
    uint64_t size = state->heap.blocks[id].size;
    struct ranked_tree list = list_of(state, class_for(state, size));
    if (!is_by_size(state)) {
        ranked_tree_resized(&list, id);
        return;
    }
    uint64_t turn = list.nodes[id].key.minor;
    ranked_tree_remove(&list, id);
    ranked_tree_insert(&list, id, key_of(state, size, turn));
}

/* Makes a block free, merged as the policy says; answers how many blocks were looked at. */
static uint64_t make_free(struct segregated_fit *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    heap_mark(heap, id, STATE_FREE);
    if (state->coalescing == MERGING_ALL) {
        uint32_t below = heap->blocks[id].previous;
        uint32_t above = heap->blocks[id].next;
        if (heap_is_free(heap, below)) {
            leave(state, below);
            heap_join_previous(heap, id);
            heap->counters.free_blocks--;
            heap->counters.coalescings++;
        }
        if (heap_is_free(heap, above)) {
            leave(state, above);
            heap_join_next(heap, id);
            heap->counters.free_blocks--;
            heap->counters.coalescings++;
        }
    }
    return enter(state, id);
}

/* The smallest block, and so the smallest remainder that is split off. */
static uint64_t least_block(const struct segregated_fit *state)
{
    uint64_t minimum = state->heap.setting.minimum;
    return state->minimum_split > minimum ? state->minimum_split : minimum;
}

/* Allocates the low end of a free block; adds what the remainder looked at to `visited`. */
static uint32_t use(struct segregated_fit *state, uint32_t id, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    uint64_t whole = heap->blocks[id].size;
    if (whole - size < least_block(state)) {
        leave(state, id);
        heap_mark(heap, id, STATE_ALLOCATED);
        return id;
    }
    bool stays = state->order == LIST_LIFO &&
                 class_for(state, whole) == class_for(state, whole - size);
    if (!stays)
        leave(state, id);
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.allocated += size;
    heap->counters.splits++;
    if (stays)
        stay(state, id);
    else
        *visited += enter(state, id);
    return low;
}

/* The block for a request, or NO_BLOCK; adds what was looked at to `visited`. */
static uint32_t find(struct segregated_fit *state, uint64_t size, uint64_t *visited)
{
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

/* Raises the break for a request; false, with the heap's failure set, if that cannot be. */
static bool grow(struct segregated_fit *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t last = heap_last(heap);
    if (state->count_tail && state->coalescing == MERGING_ALL && heap_is_free(heap, last))
        size -= heap->blocks[last].size;
    uint32_t id = heap_extend(heap, round_up(size, state->growth));
    if (id == NO_BLOCK)
        return false;
    heap->counters.growths++;
    make_free(state, id);
    return true;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct segregated_fit *state = state_of(heap);
    uint64_t visited = 0;
    uint64_t uncounted = 0; /* what happens after a growth */
    uint32_t id = find(state, size, &visited);
    bool grows = id == NO_BLOCK;
    if (grows) {
        if (!grow(state, size))
            return NO_BLOCK;
        id = find(state, size, &uncounted);
    }
    id = use(state, id, size, grows ? &uncounted : &visited);
    count_search(heap, visited);
    return id;
}

static void release(struct heap *heap, uint32_t id)
{
    uint64_t coalescings = heap->counters.coalescings;
    count_deallocation(heap, make_free(state_of(heap), id), coalescings);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct segregated_fit *state = state_of(heap);
    uint64_t old = heap->blocks[id].size;
    if (size <= old) {
        if (old - size >= least_block(state)) {
            uint32_t high = heap_cut_off(heap, id, size);
            heap->counters.splits++;
            make_free(state, high);
        }
        return true;
    }
    uint32_t above = heap->blocks[id].next;
    if (state->coalescing == MERGING_NONE || !heap_is_free(heap, above) ||
        heap->blocks[above].size < size - old)
        return false;
    uint64_t uncounted = 0;
    use(state, above, size - old, &uncounted);
    heap_join_next(heap, id);
    return true;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) && ranked_nodes_reserve(&state_of(heap)->nodes, heap->capacity);
}

DEFINE_LAYER(segregated_fit, false, allocate, release, reserve, .resize = resize)

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
    return heap_init(memory);
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
    if (wrong == NULL && blocks != state.heap.counters.free_blocks)
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
    CHOICE_PARAMETER(struct segregated_fit, coalescing, merging_names),
    UNIT_PARAMETER(struct segregated_fit, growth),
    UNIT_PARAMETER(struct segregated_fit, minimum_split),
    SWITCH_PARAMETER(struct segregated_fit, count_tail),
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
