/* Segregated fits: one list of free blocks for each size class, with or without coalescing
 * (policy/families/segregated_fit.md). */
#include <stdlib.h>

#include "index/list/block_list_edit.h"
#include "index/treap/treap.h"
#include "layers/define_layer.h"
#include "parts/classed_heap.h"

enum list_choice { LIST_FIRST, LIST_BEST };
enum list_order { LIST_LIFO, LIST_SIZE };
enum spacing { SPACING_EQUAL, SPACING_LEA };
enum { MAX_CLASSES = 1024 };

/* Free blocks that are searched in order of entry are in lists, the newest block last. A list may
 * contain millions of blocks if blocks never merge. Other free blocks are in trees by size. */
struct segregated_fit {
    struct classed_heap base;
    /* List of each class, or NULL if blocks are searched by size. A list gets its tables with its
     * first block and grows by one block at a time, because reserving nodes for a batch in each of
     * 1,024 lists would take 3 GB of addresses. */
    struct block_list *by_entry;
    struct treap_nodes nodes;
    uint32_t by_size[MAX_CLASSES];
    uint64_t entered; /* number of insertions so far */
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

/* Numbers and widths of Lea's classes. One more class contains all larger sizes. */
static const struct {
    uint64_t count;
    uint64_t width;
} lea_widths[] = {{64, 8}, {32, 64}, {16, 512}, {8, 4096}, {4, 32768}, {2, 262144}};
enum { LEA_CLASSES = 64 + 32 + 16 + 8 + 4 + 2 + 1 };

static uint64_t lea_class(uint64_t size)
{
    uint64_t first = 0;        /* first class of the current width */
    uint64_t above = size - 1; /* upper end of the class below `first` */
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

static struct treap tree_of(struct segregated_fit *state, uint64_t number)
{
    return (struct treap){&state->by_size[number], state->nodes.nodes,
                                state->base.heap.blocks};
}

static struct block_list *list_of(const struct segregated_fit *state, uint32_t id)
{
    return &state->by_entry[class_for(state, state->base.heap.blocks[id].size)];
}

static void leave(struct heap *heap, uint32_t id)
{
    struct segregated_fit *state = state_of(heap);
    if (state->by_entry != NULL) {
        struct block_list *list = list_of(state, id);
        block_list_remove(list, heap->blocks, block_list_locate(heap->blocks, id));
        heap->blocks[id].index_slot = STATE_FREE;
        return;
    }
    struct treap tree = tree_of(state, class_for(state, heap->blocks[id].size));
    treap_remove(&tree, id);
}

/* Inserts a free block in the tree of its class. Equal blocks are ordered by turn: a block that
 * entered later has a lower turn. */
static void enter_by_size(struct segregated_fit *state, uint32_t id, uint64_t turn,
                          uint64_t *visited)
{
    uint64_t size = state->base.heap.blocks[id].size;
    struct treap tree = tree_of(state, class_for(state, size));
    struct treap_key key = {size, turn};
    if (state->order == LIST_SIZE) {
        struct treap_place behind = treap_from(&tree, key);
        *visited += behind.rank + (behind.block != NO_BLOCK);
    } else {
        ++*visited;
    }
    treap_insert(&tree, id, key);
}

static bool is_used(const struct block_list *list)
{
    return list->leaves != NULL;
}

/* Inserts a free block in the list of its class. The heap fails if memory is exhausted. */
static void enter(struct heap *heap, uint32_t id, uint64_t *visited)
{
    struct segregated_fit *state = state_of(heap);
    if (state->by_entry == NULL) {
        enter_by_size(state, id, UINT64_MAX - ++state->entered, visited);
        return;
    }
    struct block_list *list = list_of(state, id);
    uint64_t unit = heap_unit(heap) | state->base.splitting.growth;
    if (!heap_needs(heap, is_used(list) ? block_list_reserve_one(list)
                                        : block_list_init(list, heap, unit)))
        return;
    block_list_insert(list, heap->blocks, block_list_back(list), id, false);
    ++*visited;
}

/* Updates a remainder's entry after the block became smaller. The remainder keeps the block's
 * place. */
static void stay(struct segregated_fit *state, uint32_t id)
{
    const struct block *blocks = state->base.heap.blocks;
    if (state->by_entry != NULL) {
        block_list_change(list_of(state, id), block_list_locate(blocks, id), &blocks[id],
                          GAVE_LOW_END, false);
        return;
    }
    uint64_t uncounted = 0;
    uint64_t turn = state->nodes.nodes[id].key.minor;
    struct treap tree = tree_of(state, class_for(state, blocks[id].size));
    treap_remove(&tree, id);
    enter_by_size(state, id, turn, &uncounted);
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

/* Returns the newest block of a class that fits, or NO_BLOCK. */
static uint32_t find_newest(struct block_list *list, uint64_t size, uint64_t *visited)
{
    if (!is_used(list))
        return NO_BLOCK;
    struct cursor at = block_list_last(list, size);
    *visited += list->blocks - (found(at) ? block_list_rank(list, at) : 0);
    return found(at) ? block_at(list, at) : NO_BLOCK;
}

/* Returns the smallest block of a class that fits, or NO_BLOCK. */
static uint32_t find_smallest(struct segregated_fit *state, uint64_t number, uint64_t size,
                              uint64_t *visited)
{
    struct treap tree = tree_of(state, number);
    struct treap_place smallest = treap_from(&tree, (struct treap_key){size, 0});
    *visited += state->fit == LIST_BEST ? treap_count(&tree)
                                        : smallest.rank + (smallest.block != NO_BLOCK);
    return smallest.block;
}

static uint32_t find(struct heap *heap, uint64_t size, uint64_t *visited)
{
    struct segregated_fit *state = state_of(heap);
    uint32_t id = NO_BLOCK;
    for (uint64_t number = class_for(state, size); id == NO_BLOCK && number < state->classes;
         number++)
        id = state->by_entry != NULL ? find_newest(&state->by_entry[number], size, visited)
                                     : find_smallest(state, number, size, visited);
    return id;
}

DEFINE_CLASSED_FUNCTIONS

static void release(struct heap *heap, uint32_t id)
{
    classed_release(heap, id, &own);
}

static bool reserve(struct heap *heap)
{
    struct segregated_fit *state = state_of(heap);
    return heap_reserve(heap) &&
           (state->by_entry != NULL || treap_nodes_reserve(&state->nodes, heap->capacity));
}

DEFINE_ONLY_LAYER(segregated_fit, false, allocate, release, reserve, .resize = resize,
                  .take_out = take_out)

static bool init_lists(struct segregated_fit *state)
{
    state->by_entry = calloc(state->classes, sizeof *state->by_entry);
    return state->by_entry != NULL;
}

static bool init(void *memory)
{
    struct segregated_fit *state = memory;
    if (state->spacing == SPACING_LEA)
        state->classes = LEA_CLASSES;
    bool by_entry = state->fit == LIST_FIRST && state->order == LIST_LIFO;
    return classed_init(memory) && (!by_entry || init_lists(state));
}

static void release_all(void *memory)
{
    struct segregated_fit *state = memory;
    for (uint64_t number = 0; state->by_entry != NULL && number < state->classes; number++)
        block_list_release(&state->by_entry[number]);
    free(state->by_entry);
    treap_nodes_release(&state->nodes);
}

static const char *check(const void *memory)
{
    struct segregated_fit state = *(const struct segregated_fit *)memory;
    uint64_t blocks = 0;
    const char *wrong = heap_check(memory);
    for (uint64_t number = 0; number < state.classes && wrong == NULL; number++) {
        struct treap tree = tree_of(&state, number);
        if (state.by_entry == NULL)
            wrong = treap_check(&tree);
        else if (is_used(&state.by_entry[number]))
            wrong = block_list_check(&state.by_entry[number], false, false);
        blocks += state.by_entry != NULL ? state.by_entry[number].blocks : treap_count(&tree);
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
    PARAMETER(struct segregated_fit, classes, 1, MAX_CLASSES),
    UNIT_PARAMETER(struct segregated_fit, interval),
    CLASSED_PARAMETERS(struct segregated_fit, base),
};

const struct family segregated_fit = {
    .name = "segregated fit",
    FAMILY_OF(struct segregated_fit),
    .blocks_an_event = 4,
    .counts_frees = true,
};
