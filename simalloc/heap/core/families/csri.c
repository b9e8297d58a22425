/* CSRI malloc: eight bins, each a ring of blocks with a rover (policy/families/csri.md). */
#include "index/list/roving_list.h"
#include "layers/define_layer.h"

enum { BIN_COUNT = 8 };

struct bin {
    struct roving_list list;
    uint32_t rover; /* rover, or NO_BLOCK if the bin is empty */
};

struct csri {
    struct heap heap;
    uint64_t growth;
    uint64_t minimum_split;
    uint64_t least;            /* minimum bytes of a remainder that is split off */
    unsigned granule;          /* log2 of 8 words */
    /* block behind the last block that can be free: the end tag, or the break's edge */
    uint32_t end;
    struct bin bins[BIN_COUNT];
};

/* Returns the bin of a size. Bin 0 is for one granule; the largest size doubles with each further
 * bin. */
static unsigned bin_of(const struct csri *state, uint64_t size)
{
    uint64_t granules = (size - 1) >> state->granule;
    unsigned bin = granules == 0 ? 0 : 64 - (unsigned)__builtin_clzll(granules);
    return bin < BIN_COUNT ? bin : BIN_COUNT - 1;
}

static unsigned bin_of_block(const struct csri *state, uint32_t id)
{
    return bin_of(state, state->heap.blocks[id].size);
}

static struct bin *own_bin(struct csri *state, uint32_t id)
{
    return &state->bins[bin_of_block(state, id)];
}

/* Removes a free block from its bin. A rover at this block moves to the previous block. */
static void leave(struct csri *state, uint32_t id)
{
    struct bin *bin = own_bin(state, id);
    if (bin->rover == id) {
        uint32_t before = roving_list_before(&bin->list, id);
        bin->rover = before == id ? NO_BLOCK : before;
    }
    roving_list_remove(&bin->list, id);
    state->heap.counters.free_blocks--;
}

/* Inserts a block directly before the rover of its bin. The block becomes the rover if `roves` or
 * if the bin is empty. */
static void enter(struct csri *state, uint32_t id, bool roves)
{
    struct bin *bin = own_bin(state, id);
    roving_list_insert(&bin->list, id, bin->rover);
    if (roves || bin->rover == NO_BLOCK)
        bin->rover = id;
    heap_count_free(&state->heap, id);
}

/* Frees a block and merges it with its free neighbours. The block must not be counted as allocated.
 * Returns the merged block. */
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
        roving_list_changed(&own_bin(state, id)->list, id);
    else
        enter(state, id, true);
    return id;
}

/* Allocates the low end of a free block. The remainder keeps its place if it belongs in the same
 * bin. */
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
        roving_list_changed(&own_bin(state, id)->list, id);
    else
        enter(state, id, false);
    return low;
}

/* Returns the first sufficient block of a bin, or NO_BLOCK. The bin must not be empty. */
static uint32_t search_bin(const struct csri *state, struct bin *bin, uint64_t size,
                           uint64_t *visited)
{
    uint32_t start = bin->rover;
    if (state->heap.blocks[start].next == state->end)
        start = roving_list_after(&bin->list, start);
    return roving_list_find(&bin->list, start, size, visited);
}

/* Returns the first sufficient block, from the size's bin up, or NO_BLOCK. */
static uint32_t search(struct csri *state, uint64_t size)
{
    uint64_t visited = 0;
    uint32_t id = NO_BLOCK;
    for (unsigned number = bin_of(state, size); number < BIN_COUNT && id == NO_BLOCK; number++) {
        struct bin *bin = &state->bins[number];
        if (bin->rover != NO_BLOCK)
            id = search_bin(state, bin, size, &visited);
    }
    count_search(&state->heap, visited);
    return id;
}

/* Raises the break. Returns the free block that contains the new memory. */
static uint32_t grow(struct csri *state, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint64_t word = heap->setting.mechanism ? heap->setting.word : 0;
    uint64_t need = (size + 3 * word) / state->growth * state->growth + state->growth;
    uint32_t id = heap_extend(heap, need);
    if (id == NO_BLOCK)
        return NO_BLOCK;
    heap->counters.growths++;
    heap->blocks[id].index_slot = STATE_ALLOCATED;
    if (word == 0)
        return make_free(state, id);
    if (state->end == NO_BLOCK)
        heap->blocks[heap_cut_low(heap, id, 2 * word)].index_slot = STATE_TABLE;
    else
        heap_join_previous(heap, id); /* replaces the old end tag */
    state->end = heap_cut_high(heap, id, heap->blocks[id].size - word);
    heap->blocks[state->end].index_slot = STATE_TABLE;
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

DEFINE_ONLY_LAYER(csri, false, allocate, release, heap_reserve, .resize = resize)

static bool init(void *memory)
{
    struct csri *state = memory;
    uint64_t minimum = state->heap.setting.minimum;
    state->least = minimum > state->minimum_split ? minimum : state->minimum_split;
    state->end = NO_BLOCK;
    state->granule = (unsigned)__builtin_ctzll(8 * state->heap.setting.word);
    uint64_t unit = heap_unit(&state->heap) | state->growth;
    if (state->heap.setting.mechanism)
        unit |= state->heap.setting.word;
    for (unsigned number = 0; number < BIN_COUNT; number++)
        roving_list_init(&state->bins[number].list, &state->heap, unit);
    return true;
}

static void release_all(void *memory)
{
    struct csri *state = memory;
    for (unsigned number = 0; number < BIN_COUNT; number++)
        roving_list_release(&state->bins[number].list);
}

static const char *check(const void *memory)
{
    const struct csri *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t found = 0;
    for (unsigned number = 0; number < BIN_COUNT; number++) {
        const struct bin *bin = &state->bins[number];
        const char *wrong = roving_list_check(&bin->list, bin->rover);
        if (wrong != NULL)
            return wrong;
        uint32_t id = bin->rover;
        for (uint32_t count = 0; count < bin->list.count; count++) {
            if (bin_of_block(state, id) != number)
                return "a block is in the bin of another size";
            id = roving_list_after(&bin->list, id);
        }
        found += bin->list.count;
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
    FAMILY_OF(struct csri),
    .blocks_an_event = 4,
};
