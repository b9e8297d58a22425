/* The contract between a family of policies and what replays a trace on its heap.
 *
 * A family's state begins with its struct heap, so that all that heaps have in common is found
 * there. Its parameters are in the state too: they are filled in by name, from its description in
 * simalloc.policy.families, before init() is called. Sizes are scaled and gross; blocks are called
 * by their ids. Nothing here knows of Python. */
#ifndef SIMALLOC_FAMILY_H
#define SIMALLOC_FAMILY_H

#include "layers/layer.h"

/* A parameter by the name that its description has for it. */
struct parameter {
    const char *name;
    size_t offset; /* offset of a uint64_t in the state */
    uint64_t least;
    uint64_t most;
    const char *const *choices; /* texts whose index is the value; NULL: the value is a number */
};

#define PARAMETER(state, field, least, most) {#field, offsetof(state, field), least, most, NULL}
#define SIZE_PARAMETER(state, field) PARAMETER(state, field, 0, UINT64_C(1) << 50)
#define UNIT_PARAMETER(state, field) PARAMETER(state, field, 1, UINT64_C(1) << 50)
#define CHOICE_PARAMETER(state, field, texts) \
    {#field, offsetof(state, field), 0, sizeof(texts) / sizeof *(texts)-1, texts}

/* The columns of a trace that a family may use, in heap->request. */
enum {
    COLUMN_ALIGNMENT = 1, /* and serves by itself */
    COLUMN_THREAD = 2,
    COLUMN_TIME = 4,
    COLUMN_SITE = 8,
    COLUMN_STREAM = 16, /* stream of a device */
    COLUMN_POOL = 32,
};

/* Where an object is, in the words of the allocator: of a description's spell_location(). */
struct location {
    int64_t region;
    int64_t number;
    int64_t offset;
};

/* Numbers in rows, one row after the other. */
struct numbers {
    const int64_t *at;
    size_t count;
};

/* A heap that a run begins with, in the rows of simalloc/heap/start.py, which has verified it. A
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
    uint32_t blocks_an_event; /* maximum number of new blocks, except those that it reserves first
                               */
    /* Initialises a state that is zero except for the parameters and an empty heap. Returns false
     * if memory is exhausted. NULL: no initialisation. */
    bool (*init)(void *state);
    void (*release)(void *state); /* frees memory of the state except its heap; NULL: none */
    /* Returns the layer for the events of the next batch, in the form that is due, or NULL when
     * memory is exhausted. */
    const struct layer *(*next_layer)(struct heap *heap);
    const char *(*check)(const void *state); /* returns a description of the first fault in the
                                              * heap, or NULL */
    /* Returns the number of free blocks that no search finds, and their bytes. NULL: no such
     * blocks. */
    uint64_t (*unsearchable)(const void *state, uint64_t *bytes);
    /* Returns the bytes of the largest free block, where a block that is free stands for several of
     * a fixed size; NULL: each free block stands for itself. */
    uint64_t (*largest_free)(const struct heap *heap);
    /* Places the blocks of a real heap before the first event; false if the capacity does not allow
     * that, or with the heap's failure set. NULL: a run begins with an empty heap. */
    bool (*begin_with)(struct heap *heap, const struct heap_start *start);
    /* Returns the number of cached blocks on the family's own lists. NULL: no such lists. For
     * tests. */
    uint64_t (*cached)(const void *state);
    /* Carries out events that need more than sizes. NULL: replay_requests(). */
    replay_function *replay_requests;
    unsigned columns;   /* COLUMN_... bits of the columns that the family uses */
    bool needs_columns_only; /* traces without these columns are replayed by sizes only */
    bool writes_itself; /* notes by itself which bytes it writes, those that calloc zeroes too */
    bool writes_objects; /* and those that the program writes: they begin anywhere in a block */
    bool refuses; /* an allocation may return NO_BLOCK without failure also without a capacity */
    bool is_pool; /* is that because its memory is a pool? Then a request for 0 bytes that gets no
                     block is the allocator's answer, and counts as no refusal */
    void (*use)(struct heap *heap, uint32_t block); /* by the request's stream; NULL: no matter */
    void (*after_change)(struct heap *heap); /* an event that changed it; NULL: nothing is done */
    void (*end_thread)(struct heap *heap); /* the request's thread ends; NULL: nothing is done */
    void (*give_back)(struct heap *heap); /* empties the caches, as malloc_trim does; NULL: no
                                           * effect */
    /* Names of the figures that the allocator reports. NULL: no figures. */
    const char *const *figure_names;
    size_t figure_count;
    /* Names of figures that are lists, with one entry for each arena: NAME.0, NAME.1, ... */
    const char *const *list_names;
    size_t list_count;
    void (*report)(const struct heap *heap, uint64_t *figures);
    /* Returns the location of an object's bytes. NULL: the block's address. */
    void (*locate)(const struct heap *heap, uint32_t block, struct location *location);
    bool counts_frees; /* always, not only on request */
    /* Returns whether the list is in address order, so that a walk along it finds a freed block's
     * place. Sets `start` to the first block of the walk, or NO_BLOCK for the front. NULL: no such
     * list. */
    bool (*walks_at_free)(const struct heap *heap, uint32_t *start);
    /* Changes the form in which free blocks are kept. Returns false if memory is exhausted. NULL:
     * only one form. */
    bool (*change_form)(void *state);
};

/* The figures of a family, and their number. */
#define FIGURES(names) .figure_names = (names), .figure_count = sizeof(names) / sizeof *(names)
#define LISTS(names) .list_names = (names), .list_count = sizeof(names) / sizeof *(names)

/* Returns the number of figures that a family reports of a heap. */
ALWAYS_INLINE size_t report_width(const struct family *family, const struct heap *heap)
{
    return family->figure_count + family->list_count * heap->reported_arenas;
}

/* A family's parameters, and how many they are. */
#define PARAMETERS(list) .parameters = (list), .parameter_count = sizeof(list) / sizeof *(list)

/* The entries of nearly every family, by the names of its state and its functions. */
#define FAMILY_OF(state)                                                          \
    .state_size = sizeof(state), PARAMETERS(parameters), .init = init,            \
    .release = release_all, .next_layer = next_layer, .check = check

#define ONCE(name_) extern const struct family name_;
#define TWICE(name_) extern const struct family name_, name_##_avx2;
#include "families/all.h"
#undef ONCE
#undef TWICE

#endif
