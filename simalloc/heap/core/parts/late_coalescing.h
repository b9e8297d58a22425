/* Coalescing that waits until a request fits in no free block, or never happens
 * (policy/families/sequential_fit.md, Coalescing).
 *
 * The policy's rule is that a scan visits the whole heap. Only blocks that were entered since the
 * previous scan can have a free neighbour. This implementation therefore visits only these blocks,
 * in address order. */
#ifndef SIMALLOC_LATE_COALESCING_H
#define SIMALLOC_LATE_COALESCING_H

#include "parts/coalescing.h"
#include "space/table.h"

enum coalescing_time { COALESCING_IMMEDIATE, COALESCING_DEFERRED, COALESCING_NONE };

static const char *const coalescing_time_names[] = {
    [COALESCING_IMMEDIATE] = "immediate",
    [COALESCING_DEFERRED] = "deferred",
    [COALESCING_NONE] = "none"};

struct entered {
    uint64_t address; /* address of the block at the start of a scan */
    uint32_t block;
};

/* If coalescing is deferred, at least one of two adjacent free blocks is among the first `count` of
 * `entered`. is_entered[id] is set if and only if one of these has the id. An entered block may
 * have been allocated since. */
struct late_coalescing {
    uint64_t time; /* enum coalescing_time */
    struct entered *entered;
    bool *is_entered; /* by block id */
    uint32_t count;
    uint32_t entered_capacity;
    uint32_t flag_capacity;
};

#define COALESCING_PARAMETER(state, late)                            \
    {"coalescing", offsetof(state, late.time), 0, COALESCING_NONE, coalescing_time_names}

/* Initialises the state of a heap without blocks. The memory is zero except for `time`. */
void late_coalescing_init(const struct late_coalescing *late, struct heap *heap,
                          struct splitting *splitting);
void late_coalescing_release(struct late_coalescing *late);

/* Returns a description of the first fault in the blocks since the previous scan, or NULL. */
const char *late_coalescing_check(const struct late_coalescing *late, const struct heap *heap);

/* Reserves entries for the blocks of a batch. Returns false if memory is exhausted. */
ALWAYS_INLINE bool late_coalescing_reserve(struct late_coalescing *late, const struct heap *heap)
{
    return late->time != COALESCING_DEFERRED ||
           (TABLE_FOLLOW(late->entered, late->entered_capacity, heap->capacity) &&
            TABLE_COVER(late->is_entered, late->flag_capacity, heap->capacity));
}

/* Enters a block that has become free without being merged. */
ALWAYS_INLINE void late_coalescing_note(struct late_coalescing *late, uint32_t id)
{
    if (late->time != COALESCING_DEFERRED || late->is_entered[id])
        return;
    late->is_entered[id] = true;
    late->entered[late->count++].block = id;
}

/* Merges all adjacent free blocks. `renew` reserves memory for another batch. Returns whether any
 * blocks were merged. Returns false, with the heap's failure set, if memory is exhausted. */
bool late_coalescing_scan(struct late_coalescing *late, struct heap *heap,
                          take_out_function *take_out, enter_function *insert,
                          reserve_function *renew);

/* Defines layer_late of a family. The family has used DEFINE_COALESCING and also defines:
 *
 *   late_of(heap)
 *   insert(heap, id, rule)   inserts a block into the index without merging it
 *   next_layer(heap) */
#define DEFINE_LATE_COALESCING                                                               \
    static const struct layer *next_layer(struct heap *heap);                                \
    static void insert_any(struct heap *heap, uint32_t id)                                   \
    {                                                                                        \
        insert(heap, id, rule_of(heap));                                                     \
    }                                                                                        \
    static void enter_late(struct heap *heap, uint32_t id)                                   \
    {                                                                                        \
        insert_any(heap, id);                                                                \
        late_coalescing_note(late_of(heap), id);                                             \
    }                                                                                        \
    static bool renew(struct heap *heap)                                                     \
    {                                                                                        \
        return next_layer(heap) != NULL && reserve(heap);                                    \
    }                                                                                        \
    static uint32_t allocate_merged(struct heap *heap, uint64_t size)                        \
    {                                                                                        \
        struct late_coalescing *late = late_of(heap);                                        \
        bool merges = late->time == COALESCING_DEFERRED;                                     \
        uint32_t id = NO_BLOCK;                                                              \
        if (merges && late_coalescing_scan(late, heap, take_out_any, insert_any, renew))     \
            id = allocate_free_any(heap, size, false);                                       \
        if (id != NO_BLOCK || heap->failure != NULL)                                         \
            return id;                                                                       \
        bool grown =                                                                         \
            grow_for(heap, size, splitting_of(heap), merges ? enter_any : insert_any);       \
        return grown ? allocate_free_any(heap, size, false) : NO_BLOCK;                      \
    }                                                                                        \
    static uint32_t allocate_late(struct heap *heap, uint64_t size)                          \
    {                                                                                        \
        uint32_t id = allocate_free_any(heap, size, true);                                   \
        return LIKELY(id != NO_BLOCK) ? id : allocate_merged(heap, size);                    \
    }                                                                                        \
    static void release_late(struct heap *heap, uint32_t id)                                 \
    {                                                                                        \
        heap->counters.allocated -= heap->blocks[id].size;                                   \
        enter_late(heap, id);                                                                \
    }                                                                                        \
    static bool resize_late(struct heap *heap, uint32_t id, uint64_t size)                   \
    {                                                                                        \
        return resize_in_place(heap, id, size, splitting_of(heap)->minimum_split,            \
                               enter_late, use_any);                                         \
    }                                                                                        \
    DEFINE_LAYER(late, false, allocate_late, release_late, reserve, .resize = resize_late,   \
                 .take_out = take_out_any)

#endif
