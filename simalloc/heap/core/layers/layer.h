/* A heap that events can be carried out on, and on which another layer can stand. */
#ifndef SIMALLOC_LAYER_H
#define SIMALLOC_LAYER_H

#include "space/heap.h"

struct replay;
struct events;

/* Allocates a block of at least `size` bytes; NO_BLOCK, with the heap's failure set, if that cannot
 * be. */
typedef uint32_t allocate_function(struct heap *heap, uint64_t size);
typedef void free_function(struct heap *heap, uint32_t block);
/* Makes an allocated block hold `size` bytes where it is; false if it cannot. */
typedef bool resize_function(struct heap *heap, uint32_t block, uint64_t size);
/* Reallocates as the allocator itself does, and returns the block that the object has then. */
typedef uint32_t reallocate_function(struct heap *heap, uint32_t block, uint64_t size);
/* Makes sure that a batch of events finds memory enough; false when it is exhausted. */
typedef bool reserve_function(struct heap *heap);
/* Takes a free block out of the index; it is allocated then, and not counted as such. */
typedef void take_out_function(struct heap *heap, uint32_t block);
/* The size of the block that a request for `size` bytes would get. */
typedef uint64_t rounded_function(const struct heap *heap, uint64_t size);
/* Carries out events until all are done or the heap says why it cannot go on; returns how many. */
typedef size_t replay_function(struct replay *replay, const struct events *events);

struct layer {
    replay_function *replay;
    allocate_function *allocate;
    free_function *release;
    resize_function *resize;
    reallocate_function *reallocate; /* NULL: resize, or else allocate and release */
    reserve_function *reserve;
    rounded_function *rounded;   /* NULL: block sizes equal the requested sizes */
    take_out_function *take_out; /* NULL: the family takes no `trim` */
};

/* Gives an object a block elsewhere, by the program's own calls. */
ALWAYS_INLINE uint32_t layer_move(struct heap *heap, uint32_t old, uint64_t size)
{
    uint32_t block = heap->front->allocate(heap, size);
    if (block != NO_BLOCK)
        heap->front->release(heap, old);
    return block;
}

/* Reallocates as the allocator itself does. */
ALWAYS_INLINE uint32_t layer_reallocate(struct heap *heap, const struct layer *layer, uint32_t old,
                                        uint64_t size)
{
    if (layer->reallocate != NULL)
        return layer->reallocate(heap, old, size);
    return layer->resize(heap, old, size) ? old : layer_move(heap, old, size);
}

#endif
