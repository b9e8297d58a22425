/* Functions of a heap that executes events. A layer can call another layer below it. */
#ifndef SIMALLOC_LAYER_H
#define SIMALLOC_LAYER_H

#include "space/heap.h"

struct replay;
struct events;

/* Allocates a block of at least `size` bytes. Returns NO_BLOCK if the heap refuses the memory or
 * fails. */
typedef uint32_t allocate_function(struct heap *heap, uint64_t size);
typedef void free_function(struct heap *heap, uint32_t block);
/* Resizes an allocated block in place. Returns false if this is impossible. */
typedef bool resize_function(struct heap *heap, uint32_t block, uint64_t size);
/* Reallocates by the rules of the allocator. Returns the new block of the object. */
typedef uint32_t reallocate_function(struct heap *heap, uint32_t block, uint64_t size);
/* Reserves memory for a batch of events. Returns false if memory is exhausted. */
typedef bool reserve_function(struct heap *heap);
/* Removes a free block from the index. Its state becomes STATE_ALLOCATED, but its bytes are not
 * counted as allocated. */
typedef void take_out_function(struct heap *heap, uint32_t block);
/* Returns the size of the block for a request of `size` bytes. */
typedef uint64_t rounded_function(const struct heap *heap, uint64_t size);
/* Executes events until all are done or the heap fails. Returns the number of executed events. */
typedef size_t replay_function(struct replay *replay, const struct events *events);

struct layer {
    replay_function *replay;
    allocate_function *allocate;
    free_function *release;
    resize_function *resize;
    reallocate_function *reallocate; /* NULL if realloc resizes or else moves the object */
    reserve_function *reserve;
    rounded_function *rounded;   /* NULL if block sizes equal the requested sizes */
    take_out_function *take_out; /* NULL if the family does not support `trim` */
};

/* Moves an object to a new block by calls of the front layer. Returns the new block, or NO_BLOCK
 * like allocate(). */
ALWAYS_INLINE uint32_t layer_move(struct heap *heap, uint32_t old, uint64_t size)
{
    uint32_t block = heap->front->allocate(heap, size);
    if (block != NO_BLOCK)
        heap->front->release(heap, old);
    return block;
}

/* Reallocates by the rules of a layer. Returns the new block of the object. */
ALWAYS_INLINE uint32_t layer_reallocate(struct heap *heap, const struct layer *layer, uint32_t old,
                                        uint64_t size)
{
    if (layer->reallocate != NULL)
        return layer->reallocate(heap, old, size);
    return layer->resize(heap, old, size) ? old : layer_move(heap, old, size);
}

#endif
