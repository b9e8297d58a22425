/* Scudo's heap and its parts (policy/families/scudo.md).
 *
 *   region   memory of one class of blocks; a part is mapped, and a part of that is cut into blocks
 *   group    the free blocks in one address range of a region
 *   batch    an array of blocks of one group
 *   record   a block of class 0 that stores a group or a batch, identified by its number
 *   local    the cache of one or more threads: a stack of blocks of each class
 *   mapping  a segment for one large block
 *
 * The `family_data` of an allocated block contains its class and the requested bytes. A large block
 * has class 0 and the number of its mapping. */
#ifndef SIMALLOC_SCUDO_PARTS_H
#define SIMALLOC_SCUDO_PARTS_H

#include "parts/thread_table.h"
#include "space/table.h"

enum {
    PAGE = 4096,
    GRAIN = 16,        /* alignment of blocks in bytes */
    SMALL_BELOW = 256, /* the thresholds of a release apply only to blocks of fewer bytes */
    MAX_CLASSES = 45,
    MAX_CACHED = 14,
    MAX_GROUPS = 2048,
    MAX_MAPPINGS_CACHED = 256,
    SIZE_BITS = 26, /* number of bits that family_data of an allocated block uses for the size */
    NOTHING = 0,    /* number that stands for "no batch", "no record" or "no mapping" */
    FALLBACK = 0    /* number of the local cache that threads share until their first allocation */
};


enum config { CONFIG_DEFAULT, CONFIG_ANDROID };
enum purge { PURGE_FORCED, PURGE_ALL };

/* The constants of a build of Scudo. Sizes are in bytes. */
struct configuration {
    const uint32_t *sizes; /* block size of each class */
    uint32_t classes;
    /* maximum number of blocks that a local cache takes together, and that fill a batch */
    uint32_t max_cached;
    /* maximum bytes of the blocks that a local cache takes together, unless it takes only one */
    uint32_t cached_bytes;
    uint32_t runs;         /* factor on the number of blocks that a region makes in one step */
    uint64_t region;
    uint32_t group_bits; /* binary logarithm of the bytes in a group's address range */
    uint64_t gain;       /* minimum gain in free bytes of small blocks for another release */
};

extern const struct configuration scudo_configurations[2];

struct batch_of_blocks {
    uint32_t blocks[MAX_CACHED];
    uint32_t record;
    uint32_t older; /* next older batch of its group, or next unused batch */
};

struct group {
    uint64_t mark;   /* free bytes after the last release, or their minimum since then */
    uint32_t count;  /* number of free blocks */
    uint32_t newest; /* newest batch */
    uint32_t newest_count;
    uint32_t record;
};

/* The last release of a region's pages. */
struct release_state {
    uint64_t threshold;
    uint64_t mark;
    uint64_t last;
};

/* The memory of a class. After each event:
 *
 *   count           == sum of `count` over its groups, except in class 0, whose blocks are records
 *   made            <= mapped
 *   made % block    == 0
 *   mapped - made   == bytes of `tail`, or 0 if tail == NO_BLOCK */
struct region {
    uint64_t block; /* size of a block */
    uint64_t start; /* address of the first block */
    uint64_t mapped;
    uint64_t made; /* bytes cut into blocks */
    uint64_t first; /* offset of the first block in the region's slot */
    uint32_t slot;
    uint32_t tail;   /* free block of mapped bytes that are not cut yet, or NO_BLOCK */
    uint32_t hole;   /* addresses that are not mapped yet, or NO_BLOCK */
    uint32_t refill; /* number of blocks that a local cache takes together */
    uint32_t random;
    uint64_t count; /* number of free blocks in all groups */
    struct group *groups;
    uint32_t group_capacity;
    bool is_full;
    uint64_t has_blocks[MAX_GROUPS / 64]; /* bitmap of groups with free blocks */
    struct release_state release;
};

/* The free blocks of class 0, which are their own records. */
struct records {
    uint32_t group; /* record of the only group, or NOTHING */
    uint32_t newest;
    uint32_t newest_count;
};

struct stack {
    uint32_t blocks[2 * MAX_CACHED]; /* numbers of records in class 0 */
    uint32_t count;
};

struct quarantine_batch;

/* Freed blocks that wait in batches. The oldest batch is first. */
struct quarantine {
    struct quarantine_batch *oldest;
    struct quarantine_batch *newest;
    uint64_t weight;
    uint64_t batches;
};

struct local {
    struct stack stacks[MAX_CLASSES];
    struct quarantine quarantine;
    struct local *next_unused; /* next cache no longer in use */
};

struct mapping {
    uint64_t base;
    uint64_t size;
    uint64_t start; /* accessible bytes, from here to `end` */
    uint64_t end;
    /* time of caching, or 0 if no byte was written since the system supplied its pages */
    uint64_t time;
    uint64_t asked;   /* bytes requested by the program */
    uint64_t ordinal; /* number of the mapping in the order of creation */
    uint32_t block; /* block of the whole mapping while cached; next unused mapping while unused */
};

struct secondary {
    struct mapping *mappings; /* by number, from 1 on */
    uint32_t used;
    uint32_t capacity;
    uint32_t unused; /* first unused mapping, or NOTHING */
    uint32_t live;
    uint64_t count; /* number of mappings ever made */
    uint64_t mapped;
    uint32_t cached[MAX_MAPPINGS_CACHED]; /* cached mapping of each slot, or NOTHING */
    /* time of caching of the oldest mapping with pages, or 0 if no cached mapping has pages */
    uint64_t oldest;
    uint32_t found_full;
};

struct scudo {
    struct heap heap;
    /* Parameters. */
    uint64_t config;
    uint64_t seed;
    uint64_t purge;
    uint64_t tick;
    uint64_t primary_interval;   /* milliseconds plus 1, or 0 if pages are never returned */
    uint64_t secondary_interval; /* milliseconds plus 1, or 0 if pages are never returned */
    uint64_t cache_count_max;
    uint64_t largest_cached;
    uint64_t caches; /* number of shared caches, or 0 for one cache per thread */
    uint64_t quarantine_size_kb;
    uint64_t thread_local_quarantine_size_kb;
    uint64_t quarantine_max_chunk_size;
    /* State. */
    const struct configuration *configuration;
    uint8_t *class_of; /* by size / GRAIN, rounded up */
    struct region regions[MAX_CLASSES];
    struct records records;
    struct batch_of_blocks *batches; /* by number, from 1 on */
    uint32_t batches_used;
    uint32_t batch_capacity;
    uint32_t batch_unused;
    struct local **locals; /* local caches, first the fallback or the shared caches */
    uint32_t local_count;
    uint32_t local_capacity;
    struct local *local_unused;
    struct thread_table local_of;
    uint64_t threads; /* number of threads with a shared cache */
    struct secondary secondary;
    struct quarantine quarantine;
    uint64_t *bits; /* bitmap of free blocks, used by releases */
    uint32_t bit_words;
    uint64_t madvise_calls;
    uint64_t madvise_bytes;
};

static inline uint32_t class_of_block(const struct scudo *state, uint32_t id)
{
    return state->heap.blocks[id].family_data >> SIZE_BITS;
}

static inline uint32_t size_asked(const struct scudo *state, uint32_t id)
{
    return state->heap.blocks[id].family_data & ((1U << SIZE_BITS) - 1);
}

static inline bool is_large(const struct scudo *state, uint32_t id)
{
    return class_of_block(state, id) == 0;
}

static inline struct mapping *mapping_of(const struct scudo *state, uint32_t id)
{
    return &state->secondary.mappings[state->heap.blocks[id].family_data];
}

static inline uint32_t random_next(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}

void scudo_shuffle(uint32_t *random, uint32_t *items, uint32_t count);

/* Returns the bytes of the header in front of the program's bytes. */
static inline uint64_t payload_of(const struct scudo *state)
{
    return state->heap.setting.mechanism ? GRAIN : 0;
}

/* Purges pages, which stay mapped, and counts the call. */
void scudo_give_back(struct scudo *state, uint64_t address, uint64_t size);

/* Regions: region.c, records.c. */

void scudo_draw_regions(struct scudo *state);
/* Cuts memory for new blocks off a region, still as one free block. Returns NO_BLOCK if the region
 * is full, or with the heap's failure set if memory is exhausted. */
uint32_t scudo_make(struct scudo *state, uint32_t number);
/* Returns cached blocks to their region. The records of new batches and groups come from the local
 * cache. */
void scudo_push(struct scudo *state, struct local *local, uint32_t number, const uint32_t *blocks,
                uint32_t count);
/* Removes up to `most` blocks from a region and marks them cached. Returns their number. */
uint32_t scudo_pop(struct scudo *state, struct local *local, uint32_t number, uint32_t *blocks,
                   uint32_t most);
/* Returns an unused batch. Returns NOTHING, with the heap's failure set, if memory is exhausted. */
uint32_t scudo_new_batch(struct scudo *state);
void scudo_drop_batch(struct scudo *state, uint32_t batch);

/* Returns records to class 0. */
void scudo_push_records(struct scudo *state, const uint32_t *records, uint32_t count);

/* Takes a record from a local cache, or returns it to the cache (scudo_drop_record).
 * scudo_take_record() returns NOTHING without a mechanism, or if memory is exhausted. */
uint32_t scudo_take_record(struct scudo *state, struct local *local);
void scudo_drop_record(struct scudo *state, struct local *local, uint32_t record);

/* Releases: release.c. */

enum release_kind { RELEASE_NORMAL, RELEASE_FORCED, RELEASE_ALL };
void scudo_release(struct scudo *state, uint32_t number, enum release_kind kind, uint64_t now);

/* Large blocks: secondary.c. */

/* Allocates a large block. Returns NO_BLOCK if the capacity does not allow it, or with the heap's
 * failure set if memory is exhausted. */
uint32_t scudo_allocate_large(struct scudo *state, uint64_t size, uint64_t alignment);
void scudo_free_large(struct scudo *state, uint32_t id, uint64_t now);
void scudo_clear_cached(struct scudo *state);

/* Local caches: local.c. */

bool scudo_init_locals(struct scudo *state);
void scudo_release_locals(struct scudo *state);
/* Returns the local cache that the request's thread uses for an operation. Returns NULL, with the
 * heap's failure set, if memory is exhausted. */
struct local *scudo_local(struct scudo *state, bool only_frees);
/* Removes the top block of a class's stack, and refills an empty stack first. The block is still
 * marked cached. Returns NO_BLOCK if the region is full. */
uint32_t scudo_pop_local(struct scudo *state, struct local *local, uint32_t number);
/* Puts a cached block on top of a stack. Returns whether the oldest blocks were moved to the
 * region. */
bool scudo_push_local(struct scudo *state, struct local *local, uint32_t number, uint32_t id);
/* Ends the request's thread. Moves the quarantine and the stacks of its own cache to the shared
 * structures. */
void scudo_end_thread(struct heap *heap);
/* Empties the local cache of the request's thread and the shared caches, with their quarantines. */
void scudo_empty_reached(struct scudo *state);

/* Quarantine: quarantine.c. */

bool scudo_is_quarantined(const struct scudo *state, uint32_t id);
void scudo_quarantine(struct scudo *state, struct local *local, uint32_t id);
/* Moves a local list to the global list. If the global list is then too large, frees its oldest
 * blocks. */
void scudo_collect(struct scudo *state, struct local *local);
/* Moves a local list to the global list, and frees all blocks of the global list. */
void scudo_recycle_all(struct scudo *state, struct local *local);
/* Returns the number of blocks in a list. */
uint64_t scudo_quarantined(const struct quarantine *quarantine);
void scudo_release_quarantine(struct quarantine *quarantine);

#endif
