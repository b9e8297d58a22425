/* Address-ordered binary trees: a single tree (ABT) or several by size (SBT)
 * (policy/families/address_trees.md). */
#include "index/unbalanced/address_tree.h"
#include "layers/define_layer.h"
#include "parts/classed_heap.h"

enum tree_fit { TREE_FIRST, TREE_BEST, TREE_BETTER };
enum { MAX_TREES = 1024 };

struct address_trees {
    struct classed_heap base;
    struct address_nodes nodes;
    uint32_t roots[MAX_TREES];
    struct tree_sizes_nodes sizes; /* `sizes` and `sizes_roots` are used with best fit only */
    struct tree_sizes_roots sizes_roots[MAX_TREES];
    uint64_t fit; /* enum tree_fit */
    uint64_t trees;
    uint64_t interval;  /* width in bytes of a tree's range of sizes */
    uint64_t rebalance; /* deallocations between two rebalancings, or 0 for never */
};

static struct address_trees *state_of(struct heap *heap)
{
    return (struct address_trees *)heap;
}

/* Returns the number of the tree for blocks of a size. */
static uint64_t tree_for(const struct address_trees *state, uint64_t size)
{
    uint64_t number = size / state->interval;
    return number < state->trees ? number : state->trees - 1;
}

static struct address_tree tree_of(struct address_trees *state, uint64_t number)
{
    const struct block *blocks = state->base.heap.blocks;
    struct address_tree tree = {.root = &state->roots[number], state->nodes.nodes, blocks};
    if (state->fit == TREE_BEST)
        tree.sizes = tree_sizes_of(&state->sizes_roots[number], &state->sizes, blocks);
    return tree;
}

static void leave(struct heap *heap, uint32_t id)
{
    struct address_trees *state = state_of(heap);
    struct address_tree tree = tree_of(state, tree_for(state, heap->blocks[id].size));
    address_tree_delete(&tree, id);
}

/* Inserts a free block. Repeats the insertion whenever a merge moves the block to another tree. */
static void enter(struct heap *heap, uint32_t id, uint64_t *visited)
{
    struct address_trees *state = state_of(heap);
    for (;;) {
        uint64_t number = tree_for(state, heap->blocks[id].size);
        struct address_tree tree = tree_of(state, number);
        struct searched met =
            address_tree_insert(&tree, id, state->base.coalescing == MERGING_ONE);
        *visited += met.visited;
        if (met.node == NO_BLOCK)
            return;
        classed_join(heap, met.node, heap->blocks[met.node].next == id);
        id = met.node;
        if (tree_for(state, heap->blocks[id].size) == number) {
            address_tree_resized(&tree, id);
            return;
        }
        address_tree_delete(&tree, id);
    }
}

static uint32_t use(struct heap *heap, uint32_t id, uint64_t size, uint64_t *visited)
{
    struct address_trees *state = state_of(heap);
    uint64_t whole = heap->blocks[id].size;
    if (whole - size < state->base.least) {
        leave(heap, id);
        heap_mark(heap, id, STATE_ALLOCATED);
        return id;
    }
    uint64_t number = tree_for(state, whole);
    bool stays = tree_for(state, whole - size) == number;
    if (!stays)
        leave(heap, id);
    uint32_t low = heap_cut_low(heap, id, size);
    heap->counters.allocated += size;
    heap->counters.splits++;
    if (stays) {
        struct address_tree tree = tree_of(state, number);
        address_tree_resized(&tree, id);
    } else {
        enter(heap, id, visited);
    }
    return low;
}

static uint32_t find(struct heap *heap, uint64_t size, uint64_t *visited)
{
    struct address_trees *state = state_of(heap);
    for (uint64_t number = tree_for(state, size); number < state->trees; number++) {
        struct address_tree tree = tree_of(state, number);
        struct searched found = state->fit == TREE_FIRST  ? address_tree_first(&tree, size)
                                : state->fit == TREE_BEST ? address_tree_best(&tree, size)
                                                          : address_tree_better(&tree, size);
        *visited += found.visited;
        if (found.node != NO_BLOCK)
            return found.node;
    }
    return NO_BLOCK;
}

DEFINE_CLASSED_FUNCTIONS

static void release(struct heap *heap, uint32_t id)
{
    struct address_trees *state = state_of(heap);
    classed_release(heap, id, &own);
    if (state->rebalance == 0 || heap->counters.deallocations % state->rebalance != 0)
        return;
    for (uint64_t number = 0; number < state->trees; number++) {
        struct address_tree tree = tree_of(state, number);
        address_tree_rebalance(&tree);
    }
}

static bool reserve(struct heap *heap)
{
    struct address_trees *state = state_of(heap);
    return heap_reserve(heap) && address_nodes_reserve(&state->nodes, heap->capacity) &&
           (state->fit != TREE_BEST || tree_sizes_reserve(&state->sizes, heap->capacity));
}

DEFINE_ONLY_LAYER(address_trees, false, allocate, release, reserve, .resize = resize,
                  .take_out = take_out)

static bool init(void *memory)
{
    return classed_init(memory);
}

static void release_all(void *memory)
{
    struct address_trees *state = memory;
    address_nodes_release(&state->nodes);
    tree_sizes_release(&state->sizes);
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
    if (wrong == NULL && nodes != state.base.heap.counters.free_blocks)
        wrong = "the trees do not hold exactly the free blocks";
    return wrong;
}

static const char *const fit_names[] = {
    [TREE_FIRST] = "first", [TREE_BEST] = "best", [TREE_BETTER] = "better"};

static const struct parameter parameters[] = {
    CHOICE_PARAMETER(struct address_trees, fit, fit_names),
    PARAMETER(struct address_trees, trees, 1, MAX_TREES),
    UNIT_PARAMETER(struct address_trees, interval),
    SIZE_PARAMETER(struct address_trees, rebalance),
    CLASSED_PARAMETERS(struct address_trees, base),
};

const struct family address_trees = {
    .name = "address trees",
    FAMILY_OF(struct address_trees),
    .blocks_an_event = 4,
    .counts_frees = true,
};
