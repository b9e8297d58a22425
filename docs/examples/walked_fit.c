/* First fit in address order without an index: a template of a family that is compiled outside the
 * package (docs/adding-a-policy.md). It returns the same addresses as first-fit-ao. */
#include "simalloc_family.h"

struct walked_fit {
    struct heap heap; /* must be the first field of each family's state */
    uint64_t growth;  /* parameter, set by its name before any other call */
};

/* Makes a block free and merges it with its free neighbours. heap_mark() and heap_cut_off() update
 * the counts of free blocks and allocated bytes. heap_join_next() does not, so the block that
 * disappears is marked as waste before each join. */
static void enter(struct heap *heap, uint32_t id)
{
    heap_mark(heap, id, STATE_FREE);
    uint32_t below = heap->blocks[id].previous;
    uint32_t above = heap->blocks[id].next;
    if (heap_is_free(heap, above)) {
        heap_mark(heap, above, STATE_WASTE);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    if (heap_is_free(heap, below)) {
        heap_mark(heap, id, STATE_WASTE);
        heap_join_next(heap, below);
        heap->counters.coalescings++;
    }
}

/* Allocates the low end of a free block. The remainder stays free. */
static uint32_t use(struct heap *heap, uint32_t id, uint64_t size)
{
    if (heap->blocks[id].size > size) {
        heap_cut_off(heap, id, size);
        heap->counters.splits++;
    }
    heap_mark(heap, id, STATE_ALLOCATED);
    return id;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    const struct walked_fit *state = (const struct walked_fit *)heap;
    uint64_t visited = 0;
    uint32_t id = heap_first(heap);
    for (; id != NO_BLOCK; id = heap->blocks[id].next) {
        visited += heap_is_free(heap, id);
        if (heap_is_free(heap, id) && heap->blocks[id].size >= size)
            break;
    }
    count_search(heap, visited);
    if (id == NO_BLOCK) {
        uint32_t last = heap_last(heap);
        uint64_t there = heap_is_free(heap, last) ? heap->blocks[last].size : 0;
        id = heap_extend(heap, round_up(size - there, state->growth));
        if (id == NO_BLOCK) /* the request was refused, or the heap has failed */
            return NO_BLOCK;
        heap->counters.growths++;
        enter(heap, id);
        id = heap_last(heap);
    }
    return use(heap, id, size);
}

static void release(struct heap *heap, uint32_t id)
{
    enter(heap, id);
}

/* Returns whether the object keeps its address. This family never resizes a block in place. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return heap->blocks[id].size == size;
}

/* false: a free never lowers the heap. heap_reserve: the family reserves no other memory before a
 * batch of events. */
DEFINE_ONLY_LAYER(walked_fit, false, allocate, release, heap_reserve, .resize = resize)

static const char *check(const void *memory)
{
    const struct walked_fit *state = memory;
    const char *wrong = heap_check(&state->heap);
    return wrong != NULL ? wrong : check_coalesced(&state->heap);
}

static const struct parameter parameters[] = {UNIT_PARAMETER(struct walked_fit, growth)};

static const struct family walked_fit = {
    .name = "walked fit",
    .state_size = sizeof(struct walked_fit),
    PARAMETERS(parameters),
    .blocks_an_event = 2, /* a growth, and the remainder of a split */
    .next_layer = next_layer,
    .check = check,
};

SIMALLOC_FAMILY(walked_fit)
