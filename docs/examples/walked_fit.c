/* First fit in address order, without an index: a skeleton of a family, compiled outside the package
 * (docs/adding-a-policy.md). Its addresses are those of first-fit-ao. */
#include "simalloc_family.h"

struct walked_fit {
    struct heap heap; /* first of all: the state of a family begins with its heap */
    uint64_t growth;  /* a parameter, filled in by its name before anything else is called */
};

/* Makes a block free, merged with its free neighbours. heap_mark() and heap_cut_off() count free
 * blocks and allocated bytes; joins count nothing, so what is joined to another is marked first. */
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

/* Allocates the low end of a free block; what is over stays free. */
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
        if (id == NO_BLOCK) /* refused, or the heap has failed */
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

/* Grows or shrinks where it is; false: the object moves. */
static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return heap->blocks[id].size == size;
}

/* The heap never falls in a free (false), and needs no memory of its own before a batch. */
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
    .blocks_an_event = 2, /* the growth, and the rest of a split */
    .next_layer = next_layer,
    .check = check,
};

SIMALLOC_FAMILY(walked_fit)
