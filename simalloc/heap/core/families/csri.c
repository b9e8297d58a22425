/* CSRI malloc: eight bins, each a circular list with a rover (simalloc/policy/families/csri.md). */
#include "index/block_ring.h"
#include "replay/replay.h"

enum { BIN_COUNT = 8 };

struct csri {
    struct heap heap;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least;            /* what is split off has so many bytes */
    uint32_t rovers[BIN_COUNT]; /* NO_BLOCK if a bin is empty */
    uint32_t end; /* the block behind the last that may be free: the end tag, or the break's edge */
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

/* Takes a free block out of its bin; a rover on it goes to the block before. */
static void leave(struct csri *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    uint32_t *rover = &state->rovers[bin_of_block(state, id)];
    uint32_t before = heap->blocks[id].home;
    block_ring_unlink(heap->blocks, id);
    if (*rover == id)
        *rover = before == id ? NO_BLOCK : before;
    heap->counters.free_blocks--;
}

/* Enters a block just before the rover of its bin; it may become the rover. */
static void enter(struct csri *state, uint32_t id, bool roves)
{
    block_ring_insert(&state->rovers[bin_of_block(state, id)], state->heap.blocks, id, roves);
    state->heap.counters.free_blocks++;
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
    if (!in_place)
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
    if (!stays)
        enter(state, id, false);
    return low;
}

/* The first block large enough in the bins from that of the size up, or NO_BLOCK. */
static uint32_t search(struct csri *state, uint64_t size)
{
    const struct block *blocks = state->heap.blocks;
    uint64_t visited = 0;
    for (unsigned bin = bin_of(state, size); bin < BIN_COUNT; bin++) {
        uint32_t start = state->rovers[bin];
        if (start == NO_BLOCK)
            continue;
        if (blocks[start].next == state->end)
            start = blocks[start].mark;
        uint32_t id = start;
        do {
            visited++;
            if (blocks[id].size >= size) {
                count_search(&state->heap, visited);
                return id;
            }
            id = blocks[id].mark;
        } while (id != start);
    }
    count_search(&state->heap, visited);
    return NO_BLOCK;
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

DEFINE_LAYER(csri, false, allocate, release, heap_reserve, .resize = resize)

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
    heap_release(&((struct csri *)memory)->heap);
}

static const char *check(const void *memory)
{
    const struct csri *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t found = 0;
    for (unsigned bin = 0; bin < BIN_COUNT; bin++) {
        uint32_t id = state->rovers[bin];
        if (id == NO_BLOCK)
            continue;
        do {
            if (bin_of_block(state, id) != bin || !heap_is_free(heap, id))
                return "a block is in the bin of another size, or not free";
            if (++found > heap->counters.free_blocks)
                return "a bin has a cycle, or the free blocks are miscounted";
            id = heap->blocks[id].mark;
        } while (id != state->rovers[bin]);
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
