/* jemalloc's data and parts (policy/families/jemalloc.md). Each part uses the parts above it:
 *
 *   size_classes    size classes
 *   pairing         pairing heaps of extents, by address
 *   extents         caches of extents that are not in use
 *   space           metadata, mappings, neighbouring extents
 *   decay           random numbers, and limits of unpurged pages
 *   page_allocator  pages of an arena: allocation and purging
 *   arena           slabs and large objects
 *   tcache          thread caches
 *   collect         garbage collection of thread caches
 *   threads         arenas and their assignment to threads
 *   report          statistics and checks
 *
 * Each mapping has higher addresses than all earlier mappings. Therefore "older mapping first, then
 * lower address" equals "lower address first". */
#ifndef SIMALLOC_JEMALLOC_H
#define SIMALLOC_JEMALLOC_H

#include "replay/replay.h"
#include "space/residence.h"
#include "space/table.h"

enum {
    SMALL_CLASSES = 36,
    MAX_CLASSES = 80,   /* maximum number of cached classes */
    MAX_SPANS = 8,      /* maximum number of size ranges in an option */
    MAX_REGIONS = 512,  /* maximum number of regions in a slab */
    REGION_WORDS = MAX_REGIONS / 64,
    PAGE_BINS = 224,
    DECAY_STEPS = 200,
    NO_EXTENT = 0,
};

#define PAGE UINT64_C(4096)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define LARGEST_SMALL UINT64_C(14336)
#define SMALLEST_LARGE UINT64_C(16384)

enum version { V5_3_0, V5_3_1 };
enum use { ACTIVE, DIRTY, MUZZY, RETAINED };

/* A run of pages of one mapping in one use. After each event:
 *
 *   slab                  free_regions == number of bits set in is_free
 *   other cached extent   the block has the address and size of the extent
 *   two neighbours        below->address + below->size == address */
struct extent {
    uint64_t address;
    uint64_t size;
    uint64_t is_free[REGION_WORDS]; /* bitmap of the free regions of a slab */
    uint32_t *regions; /* blocks of a slab's regions, or NULL if the extent is not a slab */
    uint32_t block;    /* block of the extent, or of the object in it */
    uint32_t arena;
    uint32_t mapping;
    uint32_t below; /* neighbours in the mapping, or NO_EXTENT */
    uint32_t above;
    uint32_t child; /* first child in a pairing heap */
    uint32_t sibling;
    uint32_t before;
    uint32_t older; /* next older extent in its cache */
    uint32_t newer; /* next newer extent in its cache; next unused number if unused */
    uint16_t free_regions;
    uint8_t class; /* size class of a slab */
    uint8_t use;
    bool is_zero; /* true if its pages were purged or never used */
};

struct extent_table {
    struct extent *at;
    uint32_t used; /* extents 1 to used - 1 were used */
    uint32_t capacity;
    uint32_t unused; /* head of the list of unused numbers */
};

/* A pairing heap. A list of siblings that are not yet joined to the heap follows its root. */
struct pairing {
    uint32_t root;
    uint32_t waiting; /* number of siblings that joined the list after the last merge or new root */
};

/* The extents of one use, in bins by size and in a list from oldest to newest. pages * PAGE == sum
 * of their sizes. */
struct extent_cache {
    struct pairing bins[PAGE_BINS];
    uint32_t least[PAGE_BINS]; /* first extent of each bin */
    uint64_t filled[(PAGE_BINS + 63) / 64];
    uint64_t pages;
    uint64_t most; /* the search skips bins whose class exceeds the requested size times 2**most */
    uint32_t oldest;
    uint32_t newest;
    enum use use;
};

struct random {
    uint64_t state;
};

/* Limit of the dirty or muzzy pages. */
struct decay {
    int64_t milliseconds;
    struct random random;
    uint64_t interval;
    uint64_t epoch;
    uint64_t deadline;
    uint64_t backlog[DECAY_STEPS];
    uint64_t unpurged;
    uint64_t limit;
};

struct table_block {
    uint64_t address;
    uint64_t size;
    uint64_t used;
};

/* A leaf of the address tree, which covers LEAF_SPAN bytes of addresses. */
struct leaf {
    uint64_t number;
    uint64_t address;
};

/* The metadata of an arena: blocks that are filled and never freed. */
struct metadata {
    struct table_block *blocks;
    uint32_t count;
    uint32_t capacity;
    uint64_t allocated;
};

/* The slabs of a class: the current one, and the others that are not full. */
struct bin {
    uint32_t current;
    struct pairing nonfull;
};

struct arena {
    struct metadata metadata;
    struct extent_cache dirty;
    struct extent_cache muzzy;
    struct extent_cache retained;
    struct decay dirty_decay;
    struct decay muzzy_decay;
    struct bin bins[SMALL_CLASSES];
    uint64_t eager_from; /* freed extents of at least this size are purged immediately */
    uint64_t next_mapping;
    uint64_t allocated; /* bytes of objects, including objects in thread caches */
    uint64_t active;    /* bytes of the objects' extents */
    uint64_t records;
    uint64_t max_records;
    uint32_t threads;
    uint32_t number;
};

/* The cached objects of one class. The newest is last. */
struct stack {
    uint32_t *objects;
    uint64_t end; /* end address of its table, which is filled downwards */
    uint32_t count;
    uint32_t capacity;
    uint32_t low;   /* minimum number of objects since the last collection */
    uint32_t shift; /* a fill allocates up to capacity >> (shift - burst) objects */
    uint32_t burst;
    bool refilled;
};

struct thread {
    struct random random;
    uint64_t ticks_left;
    struct arena *arena; /* arena, or NULL before the first allocation */
    bool has_cache;
    uint32_t table; /* block with the table of the stacks, or NO_BLOCK */
    uint32_t early_frees;
    uint64_t allocated; /* bytes allocated since they last started a collection */
    uint64_t freed;
    struct stack stacks[MAX_CLASSES];
    uint32_t cursor;
    uint32_t large_cursor;
    uint64_t next_time; /* earliest time of the next collection */
};

struct mapping {
    uint64_t address;
    uint64_t shift; /* Linux's address of the mapping minus `address`, modulo 2**64 */
};

struct jemalloc {
    struct heap heap; /* the family_data of an object's block is the number of its extent */
    /* Parameters. Negative values are stored modulo 2**64. */
    uint64_t version;
    uint64_t cores;
    uint64_t narenas;
    uint64_t dirty_decay_ms;
    uint64_t muzzy_decay_ms;
    uint64_t tcache;
    uint64_t tcache_max;
    uint64_t lg_tcache_nslots_mul;
    uint64_t tcache_nslots_small_min;
    uint64_t tcache_nslots_small_max;
    uint64_t tcache_nslots_large;
    uint64_t tcache_gc_incr_bytes;
    uint64_t experimental_tcache_gc;
    uint64_t oversize_threshold;
    uint64_t lg_extent_max_active_fit;
    uint64_t retain;
    uint64_t background_thread;
    uint64_t disable_large_size_classes;
    uint64_t calloc_madvise_threshold;
    uint64_t cache_oblivious;
    uint64_t tick;
    uint64_t cxx_pool;
    uint64_t stats;
    uint64_t started_threads;
    uint64_t seed;
    uint64_t dirty_seed;
    uint64_t muzzy_seed;
    /* Sizes and values of an option: smallest size in bits 0 to 15, largest size in bits 16 to 31,
     * value plus 1 in the bits above. 0 if unused. */
    uint64_t slab_sizes[MAX_SPANS];
    uint64_t tcache_ncached_max[MAX_SPANS];
    /* Values derived from the parameters. */
    uint64_t pad;        /* bytes of a large object's extent in excess of the object */
    bool page_multiples; /* true if large objects are rounded up to pages, not to classes */
    bool by_clock;       /* true if caches are collected as in 5.3.1 */
    uint32_t classes;    /* number of cached classes */
    uint32_t capacities[MAX_CLASSES];
    uint64_t slabs[SMALL_CLASSES]; /* bytes of a slab of each class */
    uint64_t shares[DECAY_STEPS];  /* shares of pages that may stay, times 2**24 */

    struct extent_table extents;
    struct mapping *mappings;
    uint32_t mapping_count;
    uint32_t mapping_capacity;
    uint64_t top;        /* upper end of the next mapping in Linux's placement */
    struct leaf *leaves; /* leaves of the address tree */
    uint32_t leaf_count;
    uint32_t leaf_capacity;
    /* by number, or NULL if not made yet; the last one serves oversize requests */
    struct arena **arenas;
    struct thread **threads;
    uint32_t thread_count;
    uint32_t *flushed; /* blocks of the current flush, and the slabs that it emptied */
    uint32_t *emptied;
    uint64_t internal; /* bytes of the stacks' tables */
    uint64_t now;
    uint64_t events;
};

ALWAYS_INLINE struct extent *extent_at(struct jemalloc *state, uint32_t number)
{
    return &state->extents.at[number];
}

#endif
