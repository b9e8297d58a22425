/* Indexes of an open heap. They are opened at their first use, and again when the unit changes. */
#include <stdlib.h>

#include "user_policies/open_heap.h"

/* A listed block, and its sort key in the order. */
struct placed {
    uint64_t place;
    uint32_t block;
};

static int compare_places(const void *a, const void *b)
{
    uint64_t one = ((const struct placed *)a)->place;
    uint64_t other = ((const struct placed *)b)->place;
    return (one > other) - (one < other);
}

/* Returns the listed blocks in the order in which they enter a new index, or NULL if memory is
 * exhausted. */
static struct placed *place(const struct open_heap *open, enum free_order order)
{
    const struct heap *heap = &open->heap;
    struct placed *placed = malloc((open->listed + 1) * sizeof *placed);
    if (placed == NULL)
        return NULL;
    size_t count = 0;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        if (heap->blocks[id].family_data != LISTED)
            continue;
        uint64_t entered = open->entered[id];
        placed[count++] = (struct placed){order == RING_LIFO ? ~entered : entered, id};
    }
    qsort(placed, count, sizeof *placed, compare_places);
    return placed;
}

/* Returns the blocks of an open index in their present order, or NULL if memory is exhausted. */
static struct placed *keep_places(const struct open_heap *open, struct free_index *index)
{
    if (index->order >= BEST_LIFO)
        return place(open, index->order);
    struct placed *placed = malloc((open->listed + 1) * sizeof *placed);
    uint32_t *blocks = malloc((open->listed + 1) * sizeof *blocks);
    if (placed != NULL && blocks != NULL) {
        free_index_blocks(index, blocks);
        for (uint64_t i = 0; i < open->listed; i++)
            placed[i] = (struct placed){i, blocks[i]};
        free(blocks);
        return placed;
    }
    free(placed);
    free(blocks);
    return NULL;
}

/* Inserts all listed blocks into an empty index in the given order. Returns false if memory is
 * exhausted. */
static bool fill(struct open_heap *open, struct free_index *index, const struct placed *placed)
{
    for (uint64_t i = 0; i < open->listed; i++) {
        uint32_t id = placed[i].block;
        if (!free_index_reserve(index, open->heap.capacity))
            return false;
        free_index_insert(index, id, &open->heap.blocks[id], open->entered[id]);
    }
    return free_index_reserve(index, open->heap.capacity);
}

static struct free_index *open_new(struct open_heap *open, enum free_order order)
{
    struct free_index *index = malloc(sizeof *index);
    if (index == NULL)
        return NULL;
    if (!free_index_open(index, order, open->unit)) {
        free_index_close(index);
        free(index);
        return NULL;
    }
    open->of_order[order] = index;
    open->indexes[open->opened++] = index;
    struct placed *placed = place(open, order);
    bool filled = placed != NULL && fill(open, index, placed);
    free(placed);
    return filled ? index : NULL;
}

struct free_index *open_heap_index(struct open_heap *open, enum free_order order)
{
    struct free_index *index = open->of_order[order];
    return LIKELY(index != NULL) ? index : open_new(open, order);
}

/* Opens an index again for another unit. Its blocks and its rover keep their places. Returns false
 * if memory is exhausted. */
static bool reopen(struct open_heap *open, struct free_index *index)
{
    bool roving = index->roving;
    uint32_t rover = index->rover;
    struct placed *placed = keep_places(open, index);
    if (placed == NULL)
        return false;
    free_index_close(index);
    bool filled = free_index_open(index, index->order, open->unit) && fill(open, index, placed);
    free(placed);
    index->roving = roving;
    index->rover = rover;
    return filled;
}

bool open_heap_refine(struct open_heap *open, uint64_t size)
{
    if (LIKELY((size & ((open->unit & -open->unit) - 1)) == 0))
        return true;
    open->unit |= size;
    for (int i = 0; i < open->opened; i++)
        if (!reopen(open, open->indexes[i]))
            return false;
    return true;
}
