/* Address-ordered binary trees, one or several by size: ABT and SBT
 * (simalloc/policy/families/address_trees.md). */
#include "index/shaped/address_tree.h"
#include "parts/merging.h"
#include "replay/replay.h"

enum tree_fit { TREE_FIRST, TREE_BEST, TREE_BETTER };
enum { MOST_TREES = 1024 };

struct address_trees {
    struct heap heap;
    struct address_nodes nodes;
    uint32_t roots[MOST_TREES];
    uint64_t fit; /* enum tree_fit */
    uint64_t trees;
    uint64_t interval;   /* the width of a tree's range of sizes */
    uint64_t coalescing; /* enum merging */
    uint64_t rebalance;  /* after so many deallocations; 0: never */
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t count_tail;
};

static struct address_trees *state_of(struct heap *heap)
{
    return (struct address_trees *)heap;
}

/* The number of the tree for blocks of a size. */
static uint64_t tree_for(const struct address_trees *state, uint64_t size)
{
    uint64_t number = size / state->interval;
    return number < state->trees ? number : state->trees - 1;
}

static struct address_tree tree_of(struct address_trees *state, uint64_t number)
{
    return (struct address_tree){&state->roots[number], state->nodes.nodes, state->heap.blocks};
}

/* Takes a free block out of the tree of its size. */
static void leave(struct address_trees *state, uint32_t id)
{
    struct address_tree tree = tree_of(state, tree_for(state, state->heap.blocks[id].size));
    address_tree_delete(&tree, id);
}

/* Joins a free neighbour, which is in no tree, to a free block. */
static void join(struct heap *heap, uint32_t id, bool above)
{
    if (above)
        heap_join_next(heap, id);
    else
        heap_join_previous(heap, id);
    heap->counters.free_blocks--;
    heap->counters.coalescings++;
}

/* Inserts a free block, again after each merging that takes it to another tree; answers how many
 * nodes were looked at. */
static uint64_t enter(struct address_trees *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint64_t visited = 0;
    for (;;) {
        uint64_t number = tree_for(state, heap->blocks[id].size);
        struct address_tree tree = tree_of(state, number);
        struct looked_up met = address_tree_insert(&tree, id, state->coalescing == MERGING_ONE);
        visited += met.visited;
        if (met.node == NO_BLOCK)
            return visited;
        join(heap, met.node, heap->blocks[met.node].next == id);
        id = met.node;
        if (tree_for(state, heap->blocks[id].size) == number) {
            address_tree_resized(&tree, id);
            return visited;
        }
        address_tree_delete(&tree, id);
    }
}

/* Makes a block free, merged as the policy says; answers how many nodes were looked at. */
static uint64_t make_free(struct address_trees *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    heap_mark(heap, id, STATE_FREE);
    if (state->coalescing == MERGING_ALL) {
        const bool sides[] = {false, true};
        for (unsigned side = 0; side < 2; side++) {
            const struct block *block = &heap->blocks[id];
            uint32_t neighbour = sides[side] ? block->next : block->previous;
            if (!heap_is_free(heap, neighbour))
                continue;
            leave(state, neighbour);
            join(heap, id, sides[side]);
        }
    }
    return enter(state, id);
}

/* The smallest block, and so the smallest remainder that is split off. */
static uint64_t least_block(const struct address_trees *state)
{
    uint64_t minimum = state->heap.setting.minimum;
    return state->minimum_split > minimum ? state->minimum_split : minimum;
}

/* Allocates the low end of a free block; adds what the remainder looked at to `visited`. */
static uint32_t use(struct address_trees *state, uint32_t id, uint64_t size, uint64_t *visited)
{
    struct heap *heap = &state->heap;
    uint64_t whole = heap->blocks[id].size;
    if (whole - size < least_block(state)) {
        leave(state, id);
        heap_mark(heap, id, STATE_ALLOCATED);
        return id;
    }
    uint64_t number = tree_for(state, whole);
    bool stays = tree_for(state, whole - size) == number;
    if (!stays)
        leave(state, id);
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.allocated += size;
    heap->counters.splits++;
    if (stays) {
        struct address_tree tree = tree_of(state, number);
        address_tree_resized(&tree, id);
    } else {
        *visited += enter(state, id);
    }
    return low;
}

/* The block for a request, or NO_BLOCK; adds what was looked at to `visited`. */
static uint32_t find(struct address_trees *state, uint64_t size, uint64_t *visited)
{
    for (uint64_t number = tree_for(state, size); number < state->trees; number++) {
        struct address_tree tree = tree_of(state, number);
        struct looked_up found = state->fit == TREE_FIRST  ? address_tree_first(&tree, size)
                                 : state->fit == TREE_BEST ? address_tree_best(&tree, size)
                                                           : address_tree_better(&tree, size);
        *visited += found.visited;
        if (found.node != NO_BLOCK)
            return found.node;
    }
    return NO_BLOCK;
}

/* Raises the break for a request; false, with the heap's failure set, if that cannot be. */
static bool grow(struct address_trees *state, uint64_t size)
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
    struct address_trees *state = state_of(heap);
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
    struct address_trees *state = state_of(heap);
    uint64_t coalescings = heap->counters.coalescings;
    count_deallocation(heap, make_free(state, id), coalescings);
    if (state->rebalance == 0 || heap->counters.deallocations % state->rebalance != 0)
        return;
    for (uint64_t number = 0; number < state->trees; number++) {
        struct address_tree tree = tree_of(state, number);
        address_tree_rebalance(&tree);
    }
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct address_trees *state = state_of(heap);
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
    return heap_reserve(heap) && address_nodes_reserve(&state_of(heap)->nodes, heap->capacity);
}

DEFINE_LAYER(address_trees, false, allocate, release, reserve, .resize = resize)

static const struct layer *settle(struct heap *heap)
{
    (void)heap;
    return &layer_address_trees;
}

static bool init(void *memory)
{
    return heap_init(memory);
}

static void release_all(void *memory)
{
    address_nodes_release(&((struct address_trees *)memory)->nodes);
    heap_release(memory);
}

static const char *check(const void *memory)
{
    struct address_trees state = *(const struct address_trees *)memory;
    uint64_t nodes = 0;
    const char *wrong = heap_check(memory);
    for (uint64_t number = 0; number < state.trees && wrong == NULL; number++) {
        struct address_tree tree = tree_of(&state, number);
        wrong = address_tree_check(&tree, &nodes);
    }
    if (wrong == NULL && nodes != state.heap.counters.free_blocks)
        wrong = "the trees do not hold exactly the free blocks";
    return wrong;
}

static const char *const fit_names[] = {
    [TREE_FIRST] = "first", [TREE_BEST] = "best", [TREE_BETTER] = "better"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct address_trees, fit, fit_names),
    PARAMETER(struct address_trees, trees, 1, MOST_TREES),
    UNIT_PARAMETER(struct address_trees, interval),
    CHOICE_PARAMETER(struct address_trees, coalescing, merging_names),
    SIZE_PARAMETER(struct address_trees, rebalance),
    UNIT_PARAMETER(struct address_trees, growth),
    UNIT_PARAMETER(struct address_trees, minimum_split),
    SWITCH_PARAMETER(struct address_trees, count_tail),
};

const struct family address_trees = {
    .name = "address trees",
    .state_size = sizeof(struct address_trees),
    PARAMETERS(parameters),
    .blocks_an_event = 4,
    .init = init,
    .release = release_all,
    .settle = settle,
    .counts_frees = true,
    .check = check,
};
