/* The queue of Solaris' -lmalloc (policy/families/solaris_3x.md), which is merged while it is
 * searched. */
#include "families/solaris_3x/solaris_3x.h"

/* Updates the queue after the size of a block, or its successor in memory, has changed. No effect
 * if the block is not in the queue. */
static void changed(struct solaris_3x *state, uint32_t id)
{
    if (UNLIKELY(state->queue.is_tree) && heap_is_free(&state->heap, id))
        roving_list_changed(&state->queue, id);
}

void solaris_3x_leave(struct solaris_3x *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    if (state->head == id) {
        uint32_t after = roving_list_after(&state->queue, id);
        state->head = after == id ? NO_BLOCK : after;
    }
    roving_list_remove(&state->queue, id);
    heap->counters.free_blocks--;
    changed(state, heap->blocks[id].previous);
}

void solaris_3x_enter(struct solaris_3x *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    roving_list_insert(&state->queue, id, state->head);
    state->head = id;
    heap_count_free(heap, id);
    changed(state, heap->blocks[id].previous);
}

/* Joins a block with the free block that follows it in memory. */
static void absorb_next(struct solaris_3x *state, uint32_t id)
{
    struct heap *heap = &state->heap;
    solaris_3x_leave(state, heap->blocks[id].next);
    heap_join_next(heap, id);
    heap->counters.coalescings++;
    changed(state, id);
}

void solaris_3x_absorb(struct solaris_3x *state, uint32_t id)
{
    while (heap_is_free(&state->heap, state->heap.blocks[id].next))
        absorb_next(state, id);
}

void solaris_3x_cut(struct solaris_3x *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    if (heap->blocks[id].size - size >= state->least) {
        uint32_t rest = heap_cut_high(heap, id, size);
        heap->counters.splits++;
        solaris_3x_enter(state, rest);
    }
    heap->counters.allocated += heap->blocks[id].size;
    heap->blocks[id].family_data = 0;
}

uint32_t solaris_3x_use(struct solaris_3x *state, uint32_t id, uint64_t size)
{
    struct heap *heap = &state->heap;
    uint32_t used = id;
    state->head = id;
    if (heap->blocks[id].size - size < state->least) {
        solaris_3x_leave(state, id);
    } else {
        used = heap_cut_low(heap, id, size);
        heap->counters.splits++;
        changed(state, id);
        changed(state, heap->blocks[used].previous);
    }
    heap->counters.allocated += heap->blocks[used].size;
    heap->blocks[used].family_data = 0;
    return used;
}

/* Searches the queue, a ring, from its head. Returns the first block that fits, or NO_BLOCK. */
static uint32_t walk(struct solaris_3x *state, uint64_t size)
{
    const struct block *blocks = state->heap.blocks;
    uint32_t id = state->head;
    do {
        state->visited++;
        solaris_3x_absorb(state, id);
        if (blocks[id].size >= size)
            return id;
        id = roving_list_after(&state->queue, id);
    } while (id != state->head);
    return NO_BLOCK;
}

/* Joins a block with the free blocks that follow it in memory. `ahead` is the number of unvisited
 * blocks behind it in the queue. Returns the number that remain unvisited. */
static uint32_t absorb_counted(struct solaris_3x *state, uint32_t id, uint32_t ahead)
{
    const struct heap *heap = &state->heap;
    const struct roving_list *queue = &state->queue;
    while (heap_is_free(heap, heap->blocks[id].next)) {
        struct cursor from = roving_list_place(queue, id);
        struct cursor next = roving_list_place(queue, heap->blocks[id].next);
        ahead -= block_list_distance(&queue->tree, from, next) <= ahead;
        absorb_next(state, id);
    }
    return ahead;
}

/* Searches a queue that is a tree. Behind the head, visits only blocks that are large enough or
 * followed by a free block, and counts the blocks between. */
static uint32_t look_up(struct solaris_3x *state, uint64_t size)
{
    const struct block *blocks = state->heap.blocks;
    struct roving_list *queue = &state->queue;
    /* also finds blocks followed by a free block */
    uint64_t most = (uint64_t)(SHORT_SIZE - 1) << queue->tree.granule;
    uint32_t ahead = queue->count;
    uint32_t id = state->head;
    while (ahead > 0) {
        state->visited++;
        ahead = absorb_counted(state, id, ahead - 1);
        if (blocks[id].size >= size)
            return id;
        struct cursor next = roving_list_place(queue, roving_list_after(queue, id));
        struct cursor hit = block_list_first_around(&queue->tree, next, size < most ? size : most);
        uint32_t passed = found(hit) ? block_list_distance(&queue->tree, next, hit) : ahead;
        if (passed >= ahead)
            break;
        state->visited += passed;
        ahead -= passed;
        id = block_at(&queue->tree, hit);
    }
    state->visited += ahead;
    return NO_BLOCK;
}

uint32_t solaris_3x_search(struct solaris_3x *state, uint64_t size)
{
    if (state->head == NO_BLOCK)
        return NO_BLOCK;
    roving_list_settle(&state->queue, state->head);
    uint64_t visited = state->visited;
    uint32_t id = state->queue.is_tree ? look_up(state, size) : walk(state, size);
    roving_list_note(&state->queue, state->visited - visited);
    return id;
}
