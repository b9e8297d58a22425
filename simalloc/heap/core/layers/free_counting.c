#include "layers/free_counting.h"

#include <stdlib.h>

#include "index/treap/treap.h"
#include "layers/define_layer.h"

/* State of the layer. For a list in address order, a tree by rank also contains the free blocks and
 * replaces walks. After each call, the tree is updated from the neighbours of the call's block,
 * because the rest of the heap has not changed. If an allocation has scanned the heap for blocks to
 * merge, the tree is rebuilt. */
struct free_counting {
    const struct family *family;
    const struct layer *base;
    bool ordered;
    struct treap_nodes nodes;
    uint32_t root;
    uint32_t last; /* free block that ended at the break after the latest call, or NO_BLOCK */
};

bool free_counting_init(struct heap *heap, const struct family *family)
{
    if (!heap->setting.count_frees || family->counts_frees)
        return true;
    heap->free_counting = calloc(1, sizeof *heap->free_counting);
    if (heap->free_counting == NULL)
        return false;
    uint32_t start;
    heap->free_counting->family = family;
    heap->free_counting->ordered =
        family->walks_at_free != NULL && family->walks_at_free(heap, &start);
    return true;
}

void free_counting_release(struct heap *heap)
{
    if (heap->free_counting == NULL)
        return;
    treap_nodes_release(&heap->free_counting->nodes);
    free(heap->free_counting);
}

static struct treap tree_of(const struct heap *heap)
{
    struct free_counting *counting = heap->free_counting;
    return (struct treap){&counting->root, counting->nodes.nodes, heap->blocks};
}

static struct treap_place place_of(const struct heap *heap, uint64_t address)
{
    const struct treap tree = tree_of(heap);
    return treap_from(&tree, (struct treap_key){address, 0});
}

static void enter_if_free(const struct heap *heap, uint32_t id)
{
    const struct treap tree = tree_of(heap);
    if (heap_is_free(heap, id))
        treap_insert(&tree, id, (struct treap_key){heap->blocks[id].address, 0});
}

/* Enters all free blocks from `id` up to but excluding `end`. Free blocks that have not merged are
 * entered one by one. */
static void enter_free_blocks(const struct heap *heap, uint32_t id, uint32_t end)
{
    for (; id != end; id = heap->blocks[id].next)
        enter_if_free(heap, id);
}

static void rebuild(const struct heap *heap)
{
    heap->free_counting->root = NO_BLOCK;
    enter_free_blocks(heap, heap_first(heap), NO_BLOCK);
}

/* Returns the first block above `id` that does not change if `id` is freed or resized. */
static uint32_t block_beyond(const struct heap *heap, uint32_t id)
{
    uint32_t above = heap->blocks[id].next;
    return heap_is_free(heap, above) ? heap->blocks[above].next : above;
}

static void leave(const struct heap *heap, uint32_t id)
{
    const struct treap tree = tree_of(heap);
    treap_remove(&tree, id);
}

static void leave_if_free(const struct heap *heap, uint32_t id)
{
    if (heap_is_free(heap, id))
        leave(heap, id);
}

/* Records the block that trimming may remove before the next call. */
static void note_last(const struct heap *heap)
{
    uint32_t last = heap_last(heap);
    heap->free_counting->last = heap_is_free(heap, last) ? last : NO_BLOCK;
}

/* Removes the latest last block from the tree, if it was trimmed. Its id may already belong to
 * another block, which is not free yet. */
static void leave_if_trimmed(const struct heap *heap)
{
    uint32_t last = heap->free_counting->last;
    if (last != NO_BLOCK && (heap_last(heap) != last || !heap_is_free(heap, last)))
        leave(heap, last);
}

/* Returns the number of blocks that a walk along the list visits up to the successor of a block. */
static uint64_t walk_to(const struct heap *heap, uint32_t id)
{
    const struct treap tree = tree_of(heap);
    uint64_t count = treap_count(&tree);
    uint64_t place = place_of(heap, heap->blocks[id].address).rank;
    uint32_t start;
    heap->free_counting->family->walks_at_free(heap, &start);
    if (start == NO_BLOCK)
        return place < count ? place + 1 : count;
    return (place + count - place_of(heap, heap->blocks[start].address).rank) % count + 1;
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    const struct free_counting *counting = heap->free_counting;
    if (!counting->ordered)
        return counting->base->allocate(heap, size);
    leave_if_trimmed(heap);
    uint32_t last = heap_last(heap);
    bool last_is_free = heap_is_free(heap, last);
    const struct counters before = heap->counters;
    uint32_t id = counting->base->allocate(heap, size);
    bool grew = heap->counters.growths != before.growths;
    bool grew_last = grew && last_is_free && !heap->new_memory_is_apart;
    /* A growth counts one coalescing. */
    if (heap->counters.coalescings > before.coalescings + grew_last) {
        rebuild(heap);
        note_last(heap);
        return id;
    }
    if (id == NO_BLOCK)
        return NO_BLOCK;
    if (!grew)
        leave(heap, place_of(heap, heap->blocks[id].address).block);
    else if (grew_last)
        leave(heap, last);
    if (heap->counters.splits != before.splits)
        enter_if_free(heap, heap->blocks[id].next);
    note_last(heap);
    return id;
}

/* Frees a block of a family whose list is in address order. Returns the number of blocks that a
 * walk visits. */
static uint64_t release_in_order(struct heap *heap, uint32_t id)
{
    leave_if_trimmed(heap);
    uint64_t visited = walk_to(heap, id);
    uint32_t below = heap->blocks[id].previous;
    uint32_t beyond = heap_is_free(heap, below) ? heap->blocks[below].previous : below;
    uint32_t end = block_beyond(heap, id);
    leave_if_free(heap, below);
    leave_if_free(heap, heap->blocks[id].next);
    heap->free_counting->base->release(heap, id);
    enter_free_blocks(heap, heap->blocks[beyond].next, end);
    note_last(heap);
    return visited;
}

static void release(struct heap *heap, uint32_t id)
{
    const struct free_counting *counting = heap->free_counting;
    uint64_t coalescings = heap->counters.coalescings;
    uint64_t visited = 0;
    if (counting->ordered)
        visited = release_in_order(heap, id);
    else
        counting->base->release(heap, id);
    count_deallocation(heap, visited, coalescings);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    const struct free_counting *counting = heap->free_counting;
    if (!counting->ordered)
        return counting->base->resize(heap, id, size);
    leave_if_trimmed(heap);
    uint32_t end = block_beyond(heap, id);
    leave_if_free(heap, heap->blocks[id].next);
    bool done = counting->base->resize(heap, id, size);
    enter_free_blocks(heap, heap->blocks[id].next, end);
    note_last(heap);
    return done;
}

static uint32_t reallocate_over(struct heap *heap, uint32_t id, uint64_t size)
{
    reallocate_function *own = heap->free_counting->base->reallocate;
    if (own != NULL)
        return own(heap, id, size);
    return resize(heap, id, size) ? id : layer_move(heap, id, size);
}

static uint64_t rounded(const struct heap *heap, uint64_t size)
{
    rounded_function *own = heap->free_counting->base->rounded;
    return own == NULL ? size : own(heap, size);
}

static bool reserve(struct heap *heap)
{
    struct free_counting *counting = heap->free_counting;
    return counting->base->reserve(heap) &&
           (!counting->ordered || treap_nodes_reserve(&counting->nodes, heap->capacity));
}

DEFINE_LAYER(free_counting, true, allocate, release, reserve, .resize = resize,
             .reallocate = reallocate_over, .rounded = rounded)

const struct layer *free_counting_over(struct heap *heap, const struct layer *family)
{
    if (heap->free_counting == NULL)
        return family;
    heap->free_counting->base = family;
    return &layer_free_counting;
}
