/* Declarations shared by the parts of tcmalloc (policy/families/tcmalloc.md).
 *
 *   thread caches       lists of blocks of each class, one cache per thread   thread_caches.c
 *   central free lists  the spans of a class, cut into blocks, and its
 *                       transfer cache: batches of blocks that move together  central_free_list.c
 *   page heap           free spans, either normal or returned                 page_heap.c
 *   metadata            records and tables, in pieces of the break            metadata.c
 *
 * Names are upstream's where they exist. After each event:
 *
 *   span                free_count + its allocated and cached blocks == class->blocks
 *   central free list   free_blocks == sum of free_count over its spans
 *                       used_slots <= cache_size <= class->max_cache_size
 *   thread cache        size == sum over the classes of list->count * class->size
 *                       list->lowater <= list->count
 *   all thread caches   unclaimed_cache_space + sum of max_size ==
 *                       max_total_thread_cache_bytes, within its limits
 *   page heap           free[kind] == sum of the lengths of its spans of that kind */
#ifndef SIMALLOC_TCMALLOC_H
#define SIMALLOC_TCMALLOC_H

#include "families/family.h"
#include "families/tcmalloc/size_map.h"
#include "index/chain.h"
#include "index/size/size_tree.h"
#include "parts/thread_table.h"

enum tcmalloc_version { VERSION_2_10, VERSION_2_18 };

/* Values of a block's `family_data`: the number of the span from which it was cut, or one of
 * these. */
#define SPAN_NORMAL (UINT32_MAX - 2)   /* free span with pages in memory */
#define SPAN_RETURNED (UINT32_MAX - 1) /* free span whose pages were returned to the system */
#define SPAN_USED UINT32_MAX           /* span that is one block of the program */
#define NO_SPAN UINT32_MAX

enum { KINDS = 2, MAX_LISTED = 256, METADATA_PIECE = 8 << 20 };
/* Sizes of records in bytes. */
enum { SPAN_RECORD = 48, LONG_SPAN_RECORD = 48, GROWTH_RECORD = 264, CACHE_RECORD = 4224 };

/* A run of blocks. `links.of[].older` links each block to the next. */
struct run {
    uint32_t first;
    uint32_t last;
    uint32_t count;
};

/* A span cut into blocks of one class. */
struct span {
    uint32_t lowest; /* lowest block */
    uint32_t free;   /* most recently freed block, head of a list of `free_count` blocks */
    uint32_t free_count;
    uint32_t class;
    uint32_t newer; /* next newer span of the class with free blocks, or NO_SPAN */
    /* next older span of the class with free blocks, or NO_SPAN; next unused number if unused */
    uint32_t older;
};

struct spans {
    struct span *of;
    uint32_t capacity;
    uint32_t used;   /* numbers below this were used */
    uint32_t unused; /* head of the list of unused numbers, or NO_SPAN */
};

/* The part of a class that all threads share. */
struct central_free_list {
    uint32_t newest; /* newest span with free blocks, or NO_SPAN */
    uint32_t spans;
    uint64_t free_blocks; /* free blocks in the spans of the class */
    uint32_t cache_size;  /* number of slots of the transfer cache */
    uint32_t used_slots;
    uint32_t slots[MAX_SLOTS]; /* first block of the batch in each slot, the newest batch last */
};

struct page_heap {
    struct chain lists[KINDS][MAX_LISTED + 1]; /* by length */
    struct size_tree long_spans[KINDS];
    uint64_t free[KINDS]; /* number of free pages by kind */
    uint64_t system;      /* number of pages obtained for spans */
    uint64_t listed;      /* largest length that has a list */
    uint64_t limit;       /* limit in pages, or 0 if unlimited */
    uint64_t cursor;      /* length of the spans to examine next for a release */
    int64_t delay;        /* number of pages to be freed before the next release */
};

/* Records of one size. Freed records are reused first. */
struct records {
    uint64_t used;
    uint64_t made;
    uint64_t chunk; /* address of the latest chunk of records */
};

struct metadata {
    uint64_t at; /* start of the unused part of the current piece */
    uint64_t end;
    uint64_t taken;    /* bytes taken from all pieces */
    uint64_t end_leaf; /* parts of the page table below this number exist */
    struct records spans, growths, caches, long_spans;
};

struct cache_list {
    uint32_t newest; /* newest block, first of a run */
    uint32_t count;
    uint32_t lowater;    /* minimum count since the last scavenge */
    uint32_t max_length; /* maximum number of blocks before the list is shortened */
    uint32_t length_overages;
};

struct thread_cache {
    struct thread_cache *older; /* next older cache, or NULL */
    uint64_t size;              /* total bytes of its blocks */
    uint64_t max_size;          /* limit in bytes; a larger cache is scavenged */
    struct cache_list lists[MAX_CLASSES];
};

struct caches {
    struct thread_cache *newest; /* newest cache, or NULL if no cache exists */
    struct thread_cache *victim; /* cache whose limit is lowered next, or NULL for the newest */
    struct thread_table of_threads;
    int64_t unclaimed_cache_space; /* bytes that belong to no cache's limit */
};

struct tcmalloc {
    struct heap heap;
    uint64_t version; /* enum tcmalloc_version */
    uint64_t page;
    uint64_t release_rate; /* in millionths */
    uint64_t aggressive_decommit;
    uint64_t max_total_thread_cache_bytes;
    uint64_t transfer_num_obj;
    uint64_t heap_limit_mb;
    uint64_t heap_start;
    bool is_started;
    struct size_classes table;
    struct links links;
    struct spans spans;
    struct central_free_list central_lists[MAX_CLASSES];
    uint32_t turn; /* next class in turn to give up a slot */
    struct page_heap page_heap;
    struct metadata metadata;
    struct caches caches;
    uint64_t visited; /* blocks visited in the current event */
};

/* Reserves entries for `blocks` more blocks and their links. Returns false, with the heap's failure
 * set, if memory is exhausted. The block table may move. */
bool tcmalloc_reserve(struct tcmalloc *state, uint64_t blocks);

/* metadata.c. These functions have no effect without a mechanism. */
void tcmalloc_take_record(struct tcmalloc *state, struct records *records, uint64_t size);
void tcmalloc_give_record(struct tcmalloc *state, struct records *records);
/* Records a growth, and makes the parts of the page table that the new memory needs. */
void tcmalloc_describe(struct tcmalloc *state, uint64_t address, uint64_t size);

/* page_heap.c. Allocates a span, whose state the caller sets. Returns NO_BLOCK, with the heap's
 * failure set, if that is impossible. */
uint32_t tcmalloc_allocate_span(struct tcmalloc *state, uint64_t pages);
/* Splits a span after `pages` pages. The span must not be free. Returns the high part. */
uint32_t tcmalloc_split_span(struct tcmalloc *state, uint32_t id, uint64_t pages);
/* Frees a span that is not counted as allocated. */
void tcmalloc_free_span(struct tcmalloc *state, uint32_t id);
/* Returns at least `least` pages to the system, or all free pages if they are fewer. Returns their
 * number. */
uint64_t tcmalloc_release_spans(struct tcmalloc *state, uint64_t least);
bool tcmalloc_page_heap_init(struct tcmalloc *state);
void tcmalloc_page_heap_release(struct tcmalloc *state);
/* Adds the number of free spans to `blocks`. Returns a description of the first fault, or NULL. */
const char *tcmalloc_page_heap_check(const struct tcmalloc *state, uint64_t *blocks);

/* central_free_list.c. Takes back a run of cached blocks in its order. */
void tcmalloc_insert(struct tcmalloc *state, uint32_t class, struct run run);
/* Returns a run of up to `count` cached blocks. Returns an empty run, with the heap's failure set,
 * if no block can be allocated. */
struct run tcmalloc_fetch(struct tcmalloc *state, uint32_t class, uint32_t count);
void tcmalloc_central_lists_init(struct tcmalloc *state);
void tcmalloc_central_lists_release(struct tcmalloc *state);
/* Adds the numbers of free and cached blocks to `blocks`. Returns a description of the first fault,
 * or NULL. */
const char *tcmalloc_central_lists_check(const struct tcmalloc *state, uint64_t *blocks);

/* thread_caches.c. Makes a cache for a thread that has no cache. Returns NULL, with the heap's
 * failure set, if memory is exhausted. */
struct thread_cache *tcmalloc_make_cache(struct tcmalloc *state, uint32_t thread);
/* Makes a cache that belongs to no thread. Returns NULL, with the heap's failure set, if memory is
 * exhausted. */
struct thread_cache *tcmalloc_add_cache(struct tcmalloc *state);
void tcmalloc_end_thread(struct tcmalloc *state, uint32_t thread);
void tcmalloc_caches_init(struct tcmalloc *state);
void tcmalloc_caches_release(struct tcmalloc *state);
/* Returns a description of the first fault in the caches, or NULL. */
const char *tcmalloc_caches_check(const struct tcmalloc *state);
/* Fills the empty list of a class from the central free list. Returns one of the fetched blocks,
 * which does not enter the list. Returns NO_BLOCK, with the heap's failure set, if memory is
 * exhausted. */
uint32_t tcmalloc_refill(struct tcmalloc *state, struct thread_cache *cache, uint32_t class);
/* Moves blocks to the central free list from a list that is too long, or from a cache that is too
 * large. */
void tcmalloc_shrink(struct tcmalloc *state, struct thread_cache *cache, uint32_t class);

/* Returns the cache of a thread, or NULL. */
ALWAYS_INLINE struct thread_cache *tcmalloc_cache_of(const struct tcmalloc *state, uint32_t thread)
{
    return thread_table_find(&state->caches.of_threads, thread);
}

/* Removes a block of a class from a cache, and refills an empty list first. Returns NO_BLOCK, with
 * the heap's failure set, if memory is exhausted. */
ALWAYS_INLINE uint32_t tcmalloc_take(struct tcmalloc *state, struct thread_cache *cache,
                                     uint32_t class)
{
    struct cache_list *list = &cache->lists[class];
    if (UNLIKELY(list->count == 0))
        return tcmalloc_refill(state, cache, class);
    uint32_t id = list->newest;
    list->newest = state->links.of[id].older;
    list->count--;
    if (list->count < list->lowater)
        list->lowater = list->count;
    cache->size -= state->table.classes[class].size;
    state->visited++;
    return id;
}

/* Puts a block into a cache. Then shrinks the list or the cache if it is too large. */
ALWAYS_INLINE void tcmalloc_give(struct tcmalloc *state, struct thread_cache *cache,
                                 uint32_t class, uint32_t id)
{
    struct cache_list *list = &cache->lists[class];
    heap_mark(&state->heap, id, STATE_CACHED);
    state->links.of[id].older = list->newest;
    list->newest = id;
    list->count++;
    cache->size += state->table.classes[class].size;
    if (UNLIKELY(list->count > list->max_length || cache->size > cache->max_size))
        tcmalloc_shrink(state, cache, class);
}

#endif
