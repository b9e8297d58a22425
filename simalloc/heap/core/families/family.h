/* The contract between a family of policies and the code that replays a trace on its heap.
 *
 * A family's state begins with its struct heap, which contains all data that heaps have in common.
 * The state also contains the parameters. They are set by name before init() is called, from the
 * description of the family in simalloc.policy.families. Sizes are scaled and include the overhead.
 * Blocks are identified by their ids. This code does not depend on Python. */
#ifndef SIMALLOC_FAMILY_H
#define SIMALLOC_FAMILY_H

#include "layers/layer.h"

/* A parameter, with the name that it has in the description. */
struct parameter {
    const char *name;
    size_t offset; /* offset of a uint64_t in the state */
    uint64_t least;
    uint64_t most;
    const char *const *choices; /* texts indexed by the value, or NULL if the value is a number */
};

#define PARAMETER(state, field, least, most) {#field, offsetof(state, field), least, most, NULL}
#define SIZE_PARAMETER(state, field) PARAMETER(state, field, 0, UINT64_C(1) << 50)
#define UNIT_PARAMETER(state, field) PARAMETER(state, field, 1, UINT64_C(1) << 50)
#define CHOICE_PARAMETER(state, field, texts) \
    {#field, offsetof(state, field), 0, sizeof(texts) / sizeof *(texts)-1, texts}

/* Columns of a trace that a family may use. Their values are in heap->request. */
enum {
    COLUMN_ALIGNMENT = 1, /* the family itself serves aligned requests */
    COLUMN_THREAD = 2,
    COLUMN_TIME = 4,
    COLUMN_SITE = 8,
    COLUMN_STREAM = 16, /* stream of a device */
    COLUMN_POOL = 32,
};

/* Location of an object in the terms of the allocator, as in a description's spell_location(). */
struct location {
    int64_t region;
    int64_t number;
    int64_t offset;
};

/* A table of numbers, row by row. */
struct numbers {
    const int64_t *at;
    size_t count;
};

/* A heap with which a run begins. The rows are described and verified in simalloc/heap/start.py. A
 * thread's row begins with its number in the trace. */
struct heap_start {
    struct numbers segment;
    struct numbers block;
    struct numbers entry;
    struct numbers arena;
    struct numbers idle;
    struct numbers thread;
    struct numbers resident;
};

struct family {
    const char *name; /* name in descriptions */
    size_t state_size;
    const struct parameter *parameters;
    size_t parameter_count;
    /* maximum number of new blocks in an event, besides blocks for which the family reserves
     * entries itself */
    uint32_t blocks_an_event;
    /* Initialises a state that is zero except for the parameters and an empty heap. Returns false
     * if memory is exhausted. NULL if no initialisation is needed. */
    bool (*init)(void *state);
    /* Frees memory of the state except its heap. NULL if the state has no such memory. */
    void (*release)(void *state);
    /* Returns the layer for the events of the next batch, in the form that suits the heap. Returns
     * NULL if memory is exhausted. */
    const struct layer *(*next_layer)(struct heap *heap);
    /* Returns a description of the first fault in the heap, or NULL. */
    const char *(*check)(const void *state);
    /* Returns the number of free blocks that searches never find, and stores their bytes. NULL if
     * no such blocks exist. */
    uint64_t (*unsearchable)(const void *state, uint64_t *bytes);
    /* Returns the bytes of the largest free block, if a free block may consist of several blocks of
     * a fixed size. NULL if each free block is one block. */
    uint64_t (*largest_free)(const struct heap *heap);
    /* Places the blocks of a real heap before the first event. Returns false if the capacity does
     * not allow that, or with the heap's failure set. NULL if a run always begins with an empty
     * heap. */
    bool (*begin_with)(struct heap *heap, const struct heap_start *start);
    /* Returns the number of cached blocks on the family's own lists, for tests. NULL if the family
     * has no such lists. */
    uint64_t (*cached)(const void *state);
    /* Replays events that need more data than sizes. NULL for replay_requests(). */
    replay_function *replay_requests;
    unsigned columns;        /* COLUMN_... bits of the columns that the family uses */
    bool needs_columns_only; /* true if traces without these columns are replayed by sizes only */
    /* true if the family itself records its writes, including zeros by calloc */
    bool writes_itself;
    /* true if the family also records the program's writes, because an object may begin anywhere in
     * a block */
    bool writes_objects;
    /* true if an allocation may return NO_BLOCK without failure, even without a capacity */
    bool refuses;
    /* True if the family refuses requests because its memory is a pool. A request for 0 bytes that
     * gets no block is then the allocator's answer and not a refusal. */
    bool is_pool;
    /* Records the use of a block by the request's stream. NULL for no effect. */
    void (*use)(struct heap *heap, uint32_t block);
    /* Called after an event that changed the heap. NULL for no effect. */
    void (*after_change)(struct heap *heap);
    void (*end_thread)(struct heap *heap); /* Ends the request's thread. NULL for no effect. */
    /* Empties the caches, as malloc_trim does. NULL for no effect. */
    void (*give_back)(struct heap *heap);
    /* Names of the figures that the allocator reports, or NULL if it reports no figures. */
    const char *const *figure_names;
    size_t figure_count;
    /* Names of figures that are lists, with one entry for each arena: NAME.0, NAME.1, ... */
    const char *const *list_names;
    size_t list_count;
    void (*report)(const struct heap *heap, uint64_t *figures);
    /* Returns the location of an object's bytes. NULL for the block's address. */
    void (*locate)(const struct heap *heap, uint32_t block, struct location *location);
    bool counts_frees; /* true if frees are always counted, not only on request */
    /* Returns whether the list is in address order, so that a walk along it finds the position of a
     * freed block. Sets `start` to the first block of the walk, or to NO_BLOCK for the front. NULL
     * if the family has no such list. */
    bool (*walks_at_free)(const struct heap *heap, uint32_t *start);
    /* Changes the data structure of the free blocks. Returns false if memory is exhausted. NULL if
     * the family has only one. */
    bool (*change_form)(void *state);
};

/* Sets the figures of a family and their number. */
#define FIGURES(names) .figure_names = (names), .figure_count = sizeof(names) / sizeof *(names)
#define LISTS(names) .list_names = (names), .list_count = sizeof(names) / sizeof *(names)

/* Returns the number of figures that a family reports for a heap. */
ALWAYS_INLINE size_t report_width(const struct family *family, const struct heap *heap)
{
    return family->figure_count + family->list_count * heap->reported_arenas;
}

/* Sets a family's parameters and their number. */
#define PARAMETERS(list) .parameters = (list), .parameter_count = sizeof(list) / sizeof *(list)

/* Sets the entries that most families share, for functions with these names. */
#define FAMILY_OF(state)                                                          \
    .state_size = sizeof(state), PARAMETERS(parameters), .init = init,            \
    .release = release_all, .next_layer = next_layer, .check = check

#define ONCE(name_) extern const struct family name_;
#define TWICE(name_) extern const struct family name_, name_##_avx2;
#include "families/all.h"
#undef ONCE
#undef TWICE

#endif
