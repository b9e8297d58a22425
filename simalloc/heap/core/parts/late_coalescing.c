#include "parts/late_coalescing.h"

#include <stdlib.h>

void late_coalescing_init(const struct late_coalescing *late, struct heap *heap,
                          struct splitting *splitting)
{
    if (late->time != COALESCING_NONE)
        return;
    heap->new_memory_is_apart = true;
    splitting->count_tail = false;
}

void late_coalescing_release(struct late_coalescing *late)
{
    table_release(late->entered);
    table_release(late->is_entered);
}

static int by_address(const void *one, const void *other)
{
    uint64_t a = ((const struct entered *)one)->address;
    uint64_t b = ((const struct entered *)other)->address;
    return (a > b) - (a < b);
}

/* Keeps the entered blocks that are still free, in address order. */
static void sort_entered(struct late_coalescing *late, const struct heap *heap)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < late->count; i++) {
        uint32_t id = late->entered[i].block;
        late->is_entered[id] = false;
        if (heap_is_free(heap, id))
            late->entered[kept++] = (struct entered){heap->blocks[id].address, id};
    }
    late->count = kept;
    if (kept > 0)
        qsort(late->entered, kept, sizeof *late->entered, by_address);
}

static uint32_t lowest_of_run(const struct heap *heap, uint32_t id)
{
    while (heap_is_free(heap, heap->blocks[id].previous))
        id = heap->blocks[id].previous;
    return id;
}

/* Merges a block with all free blocks directly above it; at least one must exist. */
static void merge_run(struct heap *heap, uint32_t id, take_out_function *take_out,
                      enter_function *insert)
{
    take_out(heap, id);
    while (heap_is_free(heap, heap->blocks[id].next)) {
        take_out(heap, heap->blocks[id].next);
        heap_join_next(heap, id);
        heap->counters.coalescings++;
    }
    insert(heap, id);
}

bool late_coalescing_scan(struct late_coalescing *late, struct heap *heap,
                          take_out_function *take_out, enter_function *insert,
                          reserve_function *renew)
{
    uint32_t runs = 0;
    sort_entered(late, heap);
    for (uint32_t i = 0; i < late->count; i++) {
        uint32_t id = late->entered[i].block;
        if (!heap_is_free(heap, id)) /* already merged into a lower block */
            continue;
        id = lowest_of_run(heap, id);
        if (!heap_is_free(heap, heap->blocks[id].next))
            continue;
        if (runs++ % BATCH == 0 && !renew(heap)) {
            heap_fail(heap, OUT_OF_MEMORY);
            return false;
        }
        merge_run(heap, id, take_out, insert);
    }
    late->count = 0;
    if (runs > 0 && !renew(heap)) {
        heap_fail(heap, OUT_OF_MEMORY);
        return false;
    }
    return runs > 0;
}

const char *late_coalescing_check(const struct late_coalescing *late, const struct heap *heap)
{
    if (late->time == COALESCING_IMMEDIATE)
        return check_coalesced(heap);
    if (late->time == COALESCING_NONE)
        return NULL;
    for (uint32_t id = heap_first(heap); id != NO_BLOCK; id = heap->blocks[id].next) {
        uint32_t above = heap->blocks[id].next;
        if (heap_is_free(heap, id) && heap_is_free(heap, above) && !late->is_entered[id] &&
            !late->is_entered[above])
            return "a scan would miss two adjacent free blocks";
    }
    return NULL;
}
