/* CSRI malloc: eight bins, each a circular list with a rover (simalloc/policy/families/csri.md). */
#include "index/block_ring.h"
#include "index/ranked/ranked_tree.h"
#include "replay/replay.h"

/* A bin that becomes LONG stands in a tree too, from its rover around, until it is SHORT: searches
 * pass the same blocks again and again. */
enum { BIN_COUNT = 8, LONG = 256, SHORT = 64 };

struct bin {
    uint32_t rover; /* or NO_BLOCK if the bin is empty */
    uint32_t count;
    uint32_t root;  /* of the tree; NO_BLOCK: there is none */
    uint64_t first; /* the key of the rover in the tree, and below it no other */
    uint64_t last;  /* no key is above */
};

struct csri {
    struct heap heap;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least;            /* what is split off has so many bytes */
    uint32_t end; /* the block behind the last that may be free: the end tag, or the break's edge */
    struct bin bins[BIN_COUNT];
    struct ranked_nodes nodes;
};

static unsigned bin_of(const struct csri *state, uint64_t size)
{
    unsigned bin = 0;
    for (uint64_t most = 8 * state->heap.setting.word; bin < BIN_COUNT - 1 && size > most; most *= 2)
        bin++;
    return bin;
}

static unsigned bin_of_block(const struct csri *state, uint32_t id)
{
    return bin_of(state, state->heap.blocks[id].size);
}

static struct ranked_tree tree_of(struct csri *state, struct bin *bin)
{
    return (struct ranked_tree){&bin->root, state->nodes.nodes, state->heap.blocks};
}

/* Puts a block into the tree of its bin, as the first or the last. */
static void plant(struct csri *state, struct bin *bin, uint32_t id, bool first)
{
    struct ranked_tree tree = tree_of(state, bin);
    ranked_tree_insert(&tree, id, (struct rank_key){first ? --bin->first : ++bin->last, 0});
}

static void uproot(struct csri *state, struct bin *bin, uint32_t id)
{
    struct ranked_tree tree = tree_of(state, bin);
    ranked_tree_remove(&tree, id);
}

/* Puts all blocks of a bin into a tree. */
static void make_tree(struct csri *state, struct bin *bin)
{
    bin->first = bin->last = UINT64_MAX / 2;
    uint32_t id = bin->rover;
    do {
        plant(state, bin, id, false);
        id = state->heap.blocks[id].mark;
    } while (id != bin->rover);
}

/* Notes that a block of a bin has another size. */
static void resized(struct csri *state, uint32_t id)
{
    struct bin *bin = &state->bins[bin_of_block(state, id)];
    struct ranked_tree tree = tree_of(state, bin);
    if (bin->root != NO_BLOCK)
        ranked_tree_resized(&tree, id);
}

/* Takes a free block out of its bin; a rover on it goes to the block before. */
static void leave(struct csri *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    struct bin *bin = &state->bins[bin_of_block(state, id)];
    uint32_t before = heap->blocks[id].home;
    bool roves = bin->rover == id;
    block_ring_unlink(heap->blocks, id);
    if (roves)
        bin->rover = before == id ? NO_BLOCK : before;
    heap->counters.free_blocks--;
    bin->count--;
    if (bin->root == NO_BLOCK)
        return;
    if (bin->count < SHORT) {
        bin->root = NO_BLOCK;
        return;
    }
    uproot(state, bin, id);
    if (roves) {
        uproot(state, bin, before);
        plant(state, bin, before, true);
    }
}

/* Enters a block just before the rover of its bin; it may become the rover. */
static void enter(struct csri *state, uint32_t id, bool roves)
{
    struct bin *bin = &state->bins[bin_of_block(state, id)];
    block_ring_insert(&bin->rover, state->heap.blocks, id, roves);
    state->heap.counters.free_blocks++;
    bin->count++;
    if (bin->root != NO_BLOCK)
        plant(state, bin, id, roves);
    else if (bin->count >= LONG)
        make_tree(state, bin);
}

/* Makes a block that is not counted as allocated free; answers the block that it has become. */
static uint32_t make_free(struct csri *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    bool low = heap_is_free(heap, below);
    bool high = heap_is_free(heap, above);
    uint64_t whole = heap->blocks[id].size + (low ? heap->blocks[below].size : 0) +
                     (high ? heap->blocks[above].size : 0);
    heap->counters.coalescings += (uint64_t)low + high;
    bool in_place = high && bin_of(state, whole) == bin_of_block(state, above);
    if (high && !in_place)
        leave(state, above);
    if (low)
        leave(state, below);
    if (high) {
        heap_join_previous(heap, above);
        id = above;
    }
    if (low)
        heap_join_previous(heap, id);
    if (in_place)
        resized(state, id);
    else
        enter(state, id, true);
    return id;
}

/* Allocates the low end of a free block; the rest keeps its place if it belongs there. */
static uint32_t use(struct csri *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t rest = heap->blocks[id].size - size;
    if (rest < state->least) {
        leave(state, id);
        heap->counters.allocated += heap->blocks[id].size;
        return id;
    }
    heap->counters.splits++;
    heap->counters.allocated += size;
    bool stays = bin_of(state, rest) == bin_of_block(state, id);
    if (!stays)
        leave(state, id);
    uint32_t low = heap_cut_low(heap, id, size);
    if (stays)
        resized(state, id);
    else
        enter(state, id, false);
    return low;
}

/* The first block of a bin that is large enough, or NO_BLOCK; the bin is not empty. */
static uint32_t walk(const struct csri *state, const struct bin *bin, uint64_t size,
                     uint64_t *visited)
{
    const struct block *blocks = state->heap.blocks;
    uint32_t start = bin->rover;
    if (blocks[start].next == state->end)
        start = blocks[start].mark;
    uint32_t id = start;
    do {
        ++*visited;
        if (blocks[id].size >= size)
            return id;
        id = blocks[id].mark;
    } while (id != start);
    return NO_BLOCK;
}

/* The same where the bin is in a tree. A rover where memory ends is looked at last. */
static uint32_t look_up(struct csri *state, struct bin *bin, uint64_t size, uint64_t *visited)
{
    const struct block *rover = &state->heap.blocks[bin->rover];
    bool at_end = rover->next == state->end;
    if (at_end)
        uproot(state, bin, bin->rover);
    struct ranked_tree tree = tree_of(state, bin);
    struct ranked found = ranked_tree_first_fit(&tree, size);
    *visited += found.rank + (found.block != NO_BLOCK);
    if (!at_end)
        return found.block;
    plant(state, bin, bin->rover, true);
    if (found.block != NO_BLOCK)
        return found.block;
    ++*visited;
    return rover->size >= size ? bin->rover : NO_BLOCK;
}

/* The first block large enough in the bins from that of the size up, or NO_BLOCK. */
static uint32_t search(struct csri *state, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = NO_BLOCK;
    for (unsigned number = bin_of(state, size); number < BIN_COUNT && id == NO_BLOCK; number++) {
        struct bin *bin = &state->bins[number];
        if (bin->root != NO_BLOCK)
            id = look_up(state, bin, size, &visited);
        else if (bin->rover != NO_BLOCK)
            id = walk(state, bin, size, &visited);
    }
    count_search(&state->heap, visited);
    return id;
}

/* Raises the break and answers the free block that the new memory has become a part of. */
static uint32_t grow(struct csri *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t word = heap->setting.mechanism ? heap->setting.word : 0;
    uint64_t need = (size + 3 * word) / state->growth * state->growth + state->growth;
    uint32_t id = heap_extend(heap, need);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].home = STATE_ALLOCATED;
    if (word == 0)
        return make_free(state, id);
    if (state->end == NO_BLOCK)
        heap->blocks[heap_cut_low(heap, id, 2 * word)].home = STATE_TABLE;
    else
        heap_join_previous(heap, id); /* where the end tag was */
    state->end = heap_cut_high(heap, id, heap->blocks[id].size - word);
    heap->blocks[state->end].home = STATE_TABLE;
    return make_free(state, id);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct csri *state = (struct csri *)heap;
    uint32_t id = search(state, size);
    if (id == NO_BLOCK)
        id = grow(state, size);
    return id == NO_BLOCK ? NO_BLOCK : use(state, id, size);
}

static void release(struct heap *heap, uint32_t id)
{
    heap->counters.allocated -= heap->blocks[id].size;
    make_free((struct csri *)heap, id);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    struct csri *state = (struct csri *)heap;
    uint64_t old = heap->blocks[id].size;
    uint32_t above = heap->blocks[id].next;
    if (size <= old) {
        if (old - size < state->least)
            return true;
        uint32_t high = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        heap->counters.allocated -= old - size;
        make_free(state, high);
        return true;
    }
    if (!heap_is_free(heap, above) || heap->blocks[above].size < size - old)
        return false;
    use(state, above, size - old);
    heap_join_next(heap, id);
    return true;
}

static bool reserve(struct heap *heap)
{
    return heap_reserve(heap) &&
           ranked_nodes_reserve(&((struct csri *)heap)->nodes, heap->capacity);
}

DEFINE_LAYER(csri, false, allocate, release, reserve, .resize = resize)

static const struct layer *settle(struct heap *heap)
{
    (void)heap;
    return &layer_csri;
}

static bool init(void *memory)
{
    struct csri *state = memory;
    uint64_t minimum = state->heap.setting.minimum;
    state->least = minimum > state->minimum_split ? minimum : state->minimum_split;
    state->end = NO_BLOCK;
    return heap_init(&state->heap);
}

static void release_all(void *memory)
{
    struct csri *state = memory;
    ranked_nodes_release(&state->nodes);
    heap_release(&state->heap);
}

static const char *check(const void *memory)
{
    const struct csri *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t found = 0;
    for (unsigned number = 0; number < BIN_COUNT; number++) {
        const struct bin *bin = &state->bins[number];
        uint32_t id = bin->rover;
        uint64_t earlier = 0;
        found += bin->count;
        for (uint32_t count = 0; count < bin->count; count++) {
            if (id == NO_BLOCK || bin_of_block(state, id) != number || !heap_is_free(heap, id))
                return "a block is in the bin of another size, or not free";
            if (bin->root != NO_BLOCK && state->nodes.nodes[id].key.major <= earlier)
                return "a bin's tree is not in the order of the bin";
            earlier = bin->root == NO_BLOCK ? 0 : state->nodes.nodes[id].key.major;
            id = heap->blocks[id].mark;
        }
        if (id != bin->rover)
            return "a bin has more blocks than it counts";
        if (bin->root != NO_BLOCK && state->nodes.nodes[bin->root].count != bin->count)
            return "a bin's tree does not hold the bin";
    }
    if (found != heap->counters.free_blocks)
        return "the bins do not hold exactly the free blocks";
    return heap_check(heap);
}

static const struct parameter parameters[] = {
    UNIT_PARAMETER(struct csri, growth),
    UNIT_PARAMETER(struct csri, minimum_split),
};

const struct family csri = {
    .name = "csri",
    .state_size = sizeof(struct csri),
    PARAMETERS(parameters),
    .blocks_an_event = 4,
    .init = init,
    .release = release_all,
    .settle = settle,
    .check = check,
};
