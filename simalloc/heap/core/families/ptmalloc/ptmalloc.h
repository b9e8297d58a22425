/* glibc's malloc (policy/families/ptmalloc.md) and its files.
 *
 *   lists.h      the free blocks of an arena
 *   cache.h      the thread cache
 *   memory.c     the break, the heaps of arenas, mapped blocks; trimming
 *   search.c     searching an arena and merging blocks
 *   start.c      beginning with the heap of a process
 *   threads.c    the arena and the cache of a thread
 *   report.c     statistics
 *   ptmalloc.c   the functions that a program calls */
#ifndef SIMALLOC_PTMALLOC_H
#define SIMALLOC_PTMALLOC_H

#include "families/family.h"
#include "index/size/groups.h"
#include "parts/unmerged.h"
#include "replay/replay.h"
#include "space/residence.h"

/* Releases, chosen by the parameter `version`. */
enum { GLIBC_2_36, GLIBC_2_41, GLIBC_2_43, GLIBC_2_44 };

/* `family_data` of a free block: IS_UNSORTED in the unsorted list, IN_NO_LIST for the top and for a
 * block about to enter a bin. */
enum { IN_NO_LIST, IS_UNSORTED };

/* `family_data` of an allocated or cached block: number of its arena, or IS_MAPPED. */
enum { IS_MAPPED = UINT32_MAX };

/* Large lists of a cache: one for each range from a power of two to the next, the first from 1024
 * bytes. */
enum { FIRST_LARGE_BITS = 10, LARGE_LISTS = 13 };

enum { HEAP_BITS = 26 };
#define HEAP_SIZE (UINT64_C(1) << HEAP_BITS) /* bytes of addresses of an arena's heap */

/* A heap of an arena other than the main one. */
struct arena_heap {
    uint64_t base;
    uint64_t size; /* number of writable bytes */
    uint64_t ever; /* maximum of `size` so far */
    uint32_t edge; /* edge of its segment */
};

/* After each event:
 *
 *   attached                    == number of threads attached to this arena
 *   top                         == NO_BLOCK, or ends where the arena's memory ends
 *   each heap of the arena      size <= ever <= HEAP_SIZE
 *   heap.counters.free_blocks   == sum over the arenas of
 *                                  bins.block_count + unsorted.count + (top != NO_BLOCK) */
struct arena {
    uint32_t number;       /* 0 for the main arena, which uses the break */
    uint32_t attached;     /* number of attached threads */
    uint32_t top;          /* free block at the end of the arena's memory, or NO_BLOCK */
    struct chain unsorted; /* free blocks whose `family_data` is IS_UNSORTED */
    struct unmerged fast;
    struct groups bins;
    uint64_t last_remainder; /* address of the last remainder */
    uint64_t system;         /* bytes obtained from the system */
    struct arena_heap *heaps;
    uint32_t heap_count;
    uint32_t heap_capacity;
};

struct cache {
    /* each sorted by size; the smallest block is the oldest of the chain */
    struct chain large[LARGE_LISTS];
    struct chain small[];            /* by size */
};

struct thread {
    struct arena *arena; /* attached arena, or NULL before the first attachment */
    struct cache *cache; /* cache, or NULL if the thread has none */
    uint32_t table;      /* block that contains the cache, or NO_BLOCK */
};

struct ptmalloc {
    struct heap heap;
    struct thread *thread; /* thread of the latest request; NULL before the first */
    struct cache *cache;   /* the thread's cache, or NULL */
    uint64_t quick_max; /* largest size that the cache's small lists serve, or 0 without a cache */
    uint32_t thread_number;
    uint64_t version; /* parameters, as in policy/families/ptmalloc.py */
    uint64_t arena_max;
    uint64_t arena_test;
    uint64_t cores;
    uint64_t tcache_count;
    uint64_t tcache_max;
    uint64_t mxfast;
    uint64_t top_pad;
    uint64_t trim_threshold;
    uint64_t mmap_threshold;
    uint64_t mmap_max;
    uint64_t adjusts;
    uint64_t most_arenas; /* maximum number of arenas */
    uint64_t growth;
    uint64_t word;         /* bytes of a word, or 0 without a mechanism */
    uint64_t keep;         /* minimum bytes of the top that are not allocated */
    uint64_t small_below;  /* smaller blocks have a bin for each size */
    uint64_t small_cached; /* largest size with a small list in a cache */
    uint64_t stashed_max;  /* largest size that a search moves to a cache */
    uint64_t served;       /* alignment that every block has */
    uint64_t table_size;   /* bytes of a cache */
    uint64_t heap_info;    /* bytes at the beginning of a heap */
    uint64_t arena_info;   /* bytes at the beginning of an arena's first heap */
    uint64_t arena_first;  /* bytes added to the request when an arena's first heap is mapped */
    uint64_t heap_max;     /* maximum bytes of a heap: the largest multiple of `growth` */
    uint64_t mapped_count;
    struct group_tables tables; /* tables of all arenas' lists */
    struct arena **arenas;      /* by number; NULL before the first arena */
    uint32_t arena_count;
    uint32_t arena_capacity;
    uint32_t next_reused; /* position of the next arena to share in the ring */
    uint32_t *idle;       /* numbers of arenas without threads, the most recently left last */
    uint32_t idle_count;
    uint32_t idle_capacity;
    struct thread *thread_table; /* by number */
    uint32_t thread_entries; /* number of entries in `thread_table` */
    /* Live blocks of the heap that the run began with, in address order. The first allocations
     * return them; waiting_given <= waiting_count have been returned. */
    uint32_t *waiting;
    size_t waiting_count;
    size_t waiting_given;
    bool making_cache;
};

static inline struct ptmalloc *ptmalloc_of(struct heap *heap)
{
    return (struct ptmalloc *)heap;
}

static inline uint64_t size_of(const struct ptmalloc *state, uint32_t id)
{
    return state->heap.blocks[id].size;
}

static inline bool is_small(const struct ptmalloc *state, uint64_t size)
{
    return size < state->small_below;
}

static inline bool is_mapped(const struct ptmalloc *state, uint32_t id)
{
    return state->heap.blocks[id].family_data == IS_MAPPED;
}

/* Returns the size of an allocated or cached block as thresholds and caches count it. */
static inline uint64_t chunk_size(const struct ptmalloc *state, uint32_t id)
{
    bool reduced = state->version >= GLIBC_2_43 && is_mapped(state, id);
    return size_of(state, id) - (reduced ? 2 * state->word : 0);
}

/* Returns the bytes of the segment that contains a mapped block, including memory in front of an
 * aligned object. */
static inline uint64_t mapped_bytes(const struct ptmalloc *state, uint32_t id)
{
    return size_of(state, id) + size_of(state, state->heap.blocks[id].previous);
}

/* Returns the arena of an allocated or cached block that is not mapped. */
static inline struct arena *arena_of(const struct ptmalloc *state, uint32_t id)
{
    return state->arenas[state->heap.blocks[id].family_data];
}

static inline uint64_t arena_end(const struct ptmalloc *state, const struct arena *arena)
{
    if (arena->number == 0)
        return state->heap.brk;
    const struct arena_heap *heap = &arena->heaps[arena->heap_count - 1];
    return heap->base + heap->size;
}

/* Counts the block of a successful allocation as allocated. Returns the block. */
static inline uint32_t use_whole(struct ptmalloc *state, uint32_t id)
{
    state->heap.counters.allocated += size_of(state, id);
    return id;
}

/* Writes the header of a block, or its links (write_links). No effect without a mechanism. */

static inline void write_head(struct ptmalloc *state, uint32_t id)
{
    if (UNLIKELY(state->heap.residence != NULL))
        heap_touch(&state->heap, state->heap.blocks[id].address + state->word, state->word);
}

static inline void write_links(struct ptmalloc *state, uint32_t id)
{
    if (LIKELY(state->heap.residence == NULL))
        return;
    uint64_t address = state->heap.blocks[id].address, size = size_of(state, id);
    unsigned words = is_small(state, size) ? 3 : 5;
    heap_touch(&state->heap, address + state->word, words * state->word);
    heap_touch(&state->heap, address + size, state->word);
}

/* Writes the object in a block: all bytes of the block except a word. */
static inline void write_object(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    heap_touch(&state->heap, state->heap.blocks[id].address + 2 * state->word, size - state->word);
}

/* Splits a block after `size` bytes and writes both headers. Returns the high part, which is not
 * counted as allocated. */
static inline uint32_t split(struct ptmalloc *state, uint32_t id, uint64_t size)
{
    uint32_t high = heap_cut_high(&state->heap, id, size);
    __builtin_prefetch(&state->heap.blocks[state->heap.unused]); /* next split uses this entry */
    state->heap.blocks[high].family_data = state->heap.blocks[id].family_data;
    state->heap.counters.splits++;
    write_head(state, id);
    write_head(state, high);
    return high;
}

/* memory.c */

/* Extends the top of an arena to hold a block of a size. Returns false, possibly with the heap's
 * failure set, if that is impossible. */
bool memory_grow(struct ptmalloc *state, struct arena *arena, uint64_t size);
bool memory_begin_arena(struct ptmalloc *state, struct arena *arena, uint64_t asked);
void memory_trim(struct ptmalloc *state, struct arena *arena);
/* Trims the top of the main arena, as malloc_trim() does. */
void memory_give_back_top(struct ptmalloc *state);
bool memory_may_map(struct ptmalloc *state, uint64_t size);
uint32_t memory_map(struct ptmalloc *state, uint64_t size);
void memory_unmap(struct ptmalloc *state, uint32_t id);
uint32_t memory_remap(struct ptmalloc *state, uint32_t id, uint64_t size);

/* search.c */

/* Finds a block in an arena, and does not count it as allocated. Returns NO_BLOCK, without a
 * failure, if the arena cannot hold it. */
uint32_t search_arena(struct ptmalloc *state, struct arena *arena, uint64_t size,
                      uint64_t *visited);
/* Cuts the low end off the top, which must be large enough. */
uint32_t search_use_top(struct ptmalloc *state, struct arena *arena, uint64_t size);
bool search_consolidate(struct ptmalloc *state, struct arena *arena);
/* Frees a block that is not counted as allocated: merges it, and trims the arena. */
void search_merge_and_trim(struct ptmalloc *state, uint32_t id);

/* threads.c */

bool threads_switch(struct ptmalloc *state);
/* Attaches an arena to the thread, which must have none, for a request of `asked` bytes. Returns
 * NULL, with the heap's failure set, if that is impossible. */
struct arena *threads_attach(struct ptmalloc *state, uint64_t asked);

ALWAYS_INLINE struct arena *threads_arena(struct ptmalloc *state, uint64_t asked)
{
    struct arena *arena = state->thread->arena;
    return LIKELY(arena != NULL) ? arena : threads_attach(state, asked);
}

/* Makes the thread's cache, unless caches are disabled. The thread must have no cache. Returns
 * false, with the heap's failure set, if the cache cannot be made. */
bool threads_make_cache(struct ptmalloc *state);
bool threads_make_cache_within(struct ptmalloc *state, struct arena *arena);
/* Makes an empty cache for the thread, which must have none. `table` is the cache's block, or
 * NO_BLOCK. Returns false, with the heap's failure set, if memory is exhausted. */
bool threads_have_cache(struct ptmalloc *state, uint32_t table);
/* Updates state->cache and the limits derived from it for the thread of the latest request. */
void threads_note_cache(struct ptmalloc *state);
/* Selects the thread of the latest request. */
bool threads_find(struct ptmalloc *state, uint32_t number);
/* Returns a new arena without memory. Returns NULL, with the heap's failure set, if memory is
 * exhausted. */
struct arena *threads_make_arena(struct ptmalloc *state);
void threads_end(struct heap *heap);
bool threads_reserve(struct ptmalloc *state);
void threads_release(struct ptmalloc *state);

/* start.c */

extern const char ptmalloc_not_live[]; /* failure message */
bool ptmalloc_begin_with(struct heap *heap, const struct heap_start *start);
/* Returns the next waiting block for an object. Returns NO_BLOCK, with the heap's failure set, if
 * the block is too small. */
uint32_t ptmalloc_give_waiting(struct ptmalloc *state, uint64_t size);

static inline bool blocks_wait(const struct ptmalloc *state)
{
    return state->waiting_given < state->waiting_count;
}

/* ptmalloc.c */

/* Searches an arena. If the arena cannot hold the block, searches the main arena too. */
uint32_t ptmalloc_find(struct ptmalloc *state, struct arena *arena, uint64_t size,
                       uint64_t *visited);
/* Frees a block that is not counted as allocated: as the program's free without a cache, or
 * (ptmalloc_free_own) as malloc's own free. */
void ptmalloc_release(struct ptmalloc *state, uint32_t id);
void ptmalloc_free_own(struct ptmalloc *state, uint32_t id);

/* report.c */

void ptmalloc_locate(const struct heap *heap, uint32_t id, struct location *location);
void ptmalloc_report(const struct heap *heap, uint64_t *figures);
uint64_t ptmalloc_cached(const void *memory);
const char *ptmalloc_check(const void *memory);

#endif
