/* Address space of every family: addresses tiled by blocks.
 *
 *   0                          break                2**62
 *   +-------------------------------+                 +----------------+     +-----------+
 *   | break segment                 |                 | mapped segment |     | another   |
 *   +------+----+----------+--------+                 +-------+--------+     +-----------+
 *   | block| ...| block    | block  |                 | block | hole   |     | block     |
 *   +------+----+----------+--------+                 +-------+--------+     +-----------+
 *   | page | page | page | page | ...                 | page | page | ...
 *
 *   block      a run of addresses in one state
 *   segment    a run of adjacent blocks; the break segment begins at 0 and ends at the break, and
 *              mapped segments have higher addresses
 *   break      the end of the break segment; raised by a growth, lowered by trimming
 *   mapped     memory requested from the system and not returned: the "heap" of all measures
 *   hole       a block that is not mapped; blocks on both sides of it never merge
 *   neighbour  the next lower or higher block of a segment; links lead to it, so that coalescing
 *              needs no headers
 *   page       a unit of residence: resident from the first write until it is returned
 *   id         the index of a block in the block table, fixed while the block exists
 *   edge       a block of 0 bytes that closes the ring of a segment, and is never free: it is the
 *              neighbour above the last block and below the first block, so that each block has
 *              two neighbours; the edge of the break segment is block 0
 *
 * Addresses and sizes are in scaled bytes. */
#ifndef SIMALLOC_HEAP_H
#define SIMALLOC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

#define NO_BLOCK 0 /* no block; also the id of the edge of the break segment */
#define MAX_BREAK (UINT64_C(1) << 62) /* mapped segments are between this address and its double */
#define OUT_OF_MEMORY "memory for the simulated heap is exhausted" /* a failure */

/* States of a block that is not in an index. A lower `index_slot` is the place of a free block in
 * its index. */
#define STATE_ALLOCATED UINT32_MAX
#define STATE_WASTE (UINT32_MAX - 1)  /* unusable */
#define STATE_CACHED (UINT32_MAX - 2) /* free for the program, but not for coalescing */
#define STATE_TABLE (UINT32_MAX - 3)  /* memory for the allocator's own tables */
#define STATE_HOLE (UINT32_MAX - 4)   /* unmapped; an edge is a hole of 0 bytes */
#define STATE_FREE (UINT32_MAX - 5)   /* free and kept by the family itself, without an index */

struct block {
    uint64_t address;
    uint64_t size;
    uint32_t previous; /* block below: previous->address + previous->size == address */
    uint32_t next;     /* block above, or the next unused id if this id is unused */
    uint32_t index_slot; /* node of the block in its free index, or a STATE_ value */
    uint32_t family_data; /* data of the family; in an edge: index in `segments` */
};

struct counters {
    uint64_t growths;
    uint64_t system_calls; /* number of calls that map, unmap, move the break or return pages */
    uint64_t splits;
    uint64_t coalescings;
    uint64_t searches;
    uint64_t visited; /* blocks visited by all searches */
    uint64_t visited_worst;
    /* Number of deallocations that searched for the place of their block. */
    uint64_t deallocations;
    uint64_t visited_at_free; /* blocks visited by searches at deallocations */
    uint64_t visited_at_free_worst;
    uint64_t coalescing_frees; /* number of deallocations that merged blocks */
    uint64_t free_blocks;   /* current number of free blocks, without cached blocks */
    uint64_t cached_blocks; /* current number of cached blocks */
    uint64_t allocated;     /* current size of all allocated blocks in scaled bytes */
};

/* Parameters of every family, named as in their descriptions. They are set before all other
 * fields. */
struct setting {
    uint64_t scale;
    uint64_t capacity; /* maximum number of mapped bytes, unscaled, or 0 without a limit */
    uint64_t header; /* bytes of a block before the requested bytes */
    uint64_t footer;
    uint64_t alignment; /* bytes; divides the size of each block */
    uint64_t minimum;   /* minimum size of a block */
    uint64_t mechanism; /* nonzero if the heap contains the allocator's own tables */
    uint64_t word;      /* bytes of a machine word: 4 or 8 */
    uint64_t quick;     /* maximum size of a block in the quick lists, or 0 without quick lists */
    uint64_t cache;     /* maximum number of freed blocks that are not coalesced yet */
    uint64_t count_frees; /* nonzero if deallocations are counted, which is slow */
    uint64_t memalign;  /* nonzero if alignment requests are honoured */
    uint64_t guaranteed; /* bytes; divides the address of each block */
    /* Bytes; for each divisor d, a block of at least d bytes begins at a multiple of d. */
    uint64_t natural_limit;
    uint64_t min_remainder; /* minimum size of a remainder that is returned, or 0 if remainders are
                             * not returned */
    uint64_t remainder_unit; /* bytes; divides the size of each returned remainder */
    uint64_t columns;    /* COLUMN_ bits of the trace columns that a policy in Python reads */
    uint64_t payload;    /* bytes of a block before the first byte that the program may write */
    uint64_t threads; /* number of threads of the program, as far as known */
    /* Number of threads, without thread 0, that start before the first event. */
    uint64_t other_threads;
    /* True if the program writes each requested byte; false if it writes nothing. */
    bool program_writes;
    uint64_t page;       /* bytes; unit of residence and alignment of mapped segments */
};

/* Request of the current event. A field is 0 if the trace has no such column or if the family does
 * not use it. */
struct request {
    uint64_t size;      /* requested bytes */
    uint64_t alignment; /* scaled bytes, or 0 if no alignment was requested */
    uint64_t time;      /* nanoseconds */
    uint64_t unwritten; /* number of bytes at the end of the object that are never written */
    uint64_t event;     /* index of the event, from 0 */
    uint32_t thread;
    uint32_t site;
    uint32_t stream; /* stream of a device */
    uint32_t pool;
    bool is_zeroed; /* true if the memory is zeroed, as calloc() does */
    /* True if a family that refuses the request has freed the object, as some reallocs to 0 bytes
     * do. */
    bool is_freed;
};

/* Call that maps a segment or hole or, if size < 0, unmaps it. */
struct map_call {
    int64_t event; /* index of the current event, from 0 */
    int64_t address;
    int64_t size;
};

/* Log of all calls that map or unmap memory, filled if `are_kept` is set. */
struct mappings {
    bool are_kept;
    struct map_call *at;
    uint32_t count;
    uint32_t capacity;
};

struct layer;
struct residence;
struct largest_free;
struct free_cache;
struct free_counting;
struct pymalloc;
struct trimming;

enum { PAGES_MAY_CHANGE = 2 };

/* Heap of any family. Invariants after each event, which heap_check() verifies on request:
 *
 *   for each block           previous->address + previous->size == address
 *                            next->previous == the block itself
 *   mapped + untouched       == sum of the sizes of all blocks except holes
 *   counters.allocated       == sum of the sizes of the allocated blocks
 *   counters.cached_blocks   == number of blocks in STATE_CACHED
 *   counters.free_blocks     == number of blocks that the family's own structures hold as free
 *   segments[i] == edge      <=> blocks[edge].family_data == i */
struct heap {
    uint64_t brk;
    uint64_t mapped; /* scaled bytes below the break and in mapped segments; <= limit */
    uint64_t limit;  /* capacity in scaled bytes, or UINT64_MAX */
    uint64_t untouched; /* scaled bytes of a pool above its highest block; they are not mapped */
    uint64_t same_for; /* scaled bytes by which the capacity can rise without changing a decision */
    struct block *blocks;
    uint32_t capacity;   /* number of entries of the block table */
    uint32_t used;       /* smaller ids have been in use; this id and larger ids never */
    uint32_t unused;     /* head of the list of unused ids, linked by `next`, or NO_BLOCK */
    const char *failure; /* reason why the replay ends, or NULL */
    /* 1 if the heap has grown or shrunk, or an event has failed. Read after each request.
     * PAGES_MAY_CHANGE is set while residence is measured, so that every event is recorded. */
    uint8_t heap_changed;
    bool may_refuse;   /* true if a refused request is not a failure */
    bool has_refused;  /* true if the current event was refused a growth */
    /* True if the capacity is too small for the memory that the allocator needs before the first
     * event. */
    bool cannot_start;
    /* True if new memory does not merge with a free block at the break. */
    bool new_memory_is_apart;
    uint32_t spare; /* maximum number of blocks that one batch of events makes */
    /* Number of ids reserved by heap_reserve_more() in the current event, to verify the heap. */
    uint64_t reserved;
    struct counters counters;
    struct setting setting;
    const struct layer *front; /* layer of the program's calls; set before a batch */
    /* Freed blocks that are not coalesced yet, or NULL if every block is coalesced at once. */
    struct free_cache *free_cache;
    struct pymalloc *pymalloc; /* Python's own allocator above the family, or NULL */
    /* Rule for lowering the break, or NULL if the break is never lowered. */
    struct trimming *trimming;
    /* Count of deallocations, or NULL if they are not counted or the family counts them. */
    struct free_counting *free_counting;
    uint32_t *segments;        /* edges of the mapped segments, in any order */
    uint32_t segment_count;
    uint32_t segment_capacity;
    uint64_t segment_address; /* lowest address for the next segment */
    uint64_t segment_alignment; /* alignment of the next segment, or 0 for any address */
    const struct layer *family; /* layer below the front */
    struct request request;
    uint64_t reported_arenas; /* maximum number of arenas that a family may report */
    struct residence *residence; /* resident pages, or NULL if they are not requested */
    /* Pages touched since they were mapped, or NULL if they are not requested. */
    struct residence *touched;
    /* Index of the largest free block, or NULL if it is not requested. */
    struct largest_free *largest_free;
    struct mappings mappings;
};

/* Number of events in a batch. Memory for a whole batch is reserved before its first event. */
enum { BATCH = 256 };

/* Number of blocks whose table stays in the processor's caches: 512 kB. */
enum { NEAR_BLOCKS = 1 << 14 };

bool heap_grow_table(struct heap *heap, uint64_t spare);
void heap_release(struct heap *heap);

uint64_t common_divisor(uint64_t one, uint64_t other);

/* Returns a number whose largest power-of-two divisor divides the size of every requested block. */
uint64_t heap_unit(const struct heap *heap);

/* Returns a description of the first fault in the tiling, or NULL. */
const char *heap_check(const struct heap *heap);

/* Returns the size of the largest free block in scaled bytes; cached blocks are excluded. Under a
 * capacity, the bytes that can still be mapped count as one block. A free block at the break counts
 * as part of that block. */
uint64_t heap_largest_free(const struct heap *heap);

/* Returns the result of heap_largest_free() from `largest`, the size of the largest free block.
 * `merges` is true if new memory joins a free block at the break. */
uint64_t heap_with_room(const struct heap *heap, uint64_t largest, bool merges);

/* Initialises a heap whose memory is zero except for `setting` and `spare`. Returns false if memory
 * is exhausted. */
ALWAYS_INLINE bool heap_init(struct heap *heap)
{
    heap->used = 1;
    heap->segment_address = MAX_BREAK;
    if (!heap_grow_table(heap, heap->spare))
        return false;
    heap->blocks[NO_BLOCK] =
        (struct block){.previous = NO_BLOCK, .next = NO_BLOCK, .index_slot = STATE_ALLOCATED};
    return true;
}

/* Reserves ids for a batch. Returns false if memory is exhausted. */
ALWAYS_INLINE bool heap_reserve(struct heap *heap)
{
    return LIKELY(heap->capacity - heap->used >= heap->spare) ||
           heap_grow_table(heap, heap->spare);
}

/* Reserves `blocks` ids for the current event, in addition to the family's declared number. The
 * block table may move. Returns false, with the heap's failure set, if memory is exhausted. */
bool heap_reserve_more(struct heap *heap, uint64_t blocks);

ALWAYS_INLINE uint32_t heap_new_id(struct heap *heap)
{
    uint32_t id = heap->unused;
    if (id == NO_BLOCK)
        return heap->used++;
    heap->unused = heap->blocks[id].next;
    return id;
}

/* Makes an id unused. Its state becomes STATE_WASTE, so that it never passes for a free block. */
ALWAYS_INLINE void heap_drop_id(struct heap *heap, uint32_t id)
{
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->blocks[id].next = heap->unused;
    heap->unused = id;
}

/* Reports a block that may be free and larger than before to the index of the largest free
 * block. */
void largest_free_note(struct heap *heap, uint32_t id);

/* Reports a block that has become larger, or free without being counted as free. */
ALWAYS_INLINE void heap_note_free(struct heap *heap, uint32_t id)
{
    if (UNLIKELY(heap->largest_free != NULL))
        largest_free_note(heap, id);
}

/* Counts a block that becomes free. For families that set the state of a block themselves. */
ALWAYS_INLINE void heap_count_free(struct heap *heap, uint32_t id)
{
    heap->counters.free_blocks++;
    heap_note_free(heap, id);
}

ALWAYS_INLINE bool is_free(const struct block *block)
{
    return block->index_slot <= STATE_FREE;
}

ALWAYS_INLINE bool heap_is_free(const struct heap *heap, uint32_t id)
{
    return is_free(&heap->blocks[id]);
}

/* Returns the lowest block of the break segment, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_first(const struct heap *heap)
{
    return heap->blocks[NO_BLOCK].next;
}

/* Returns the block that ends at the break, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_last(const struct heap *heap)
{
    return heap->blocks[NO_BLOCK].previous;
}

/* Cuts the low `size` bytes off block `id`. Returns the new low block. */
ALWAYS_INLINE uint32_t heap_cut_low(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t low = heap_new_id(heap);
    struct block *block = &heap->blocks[id];
    struct block *cut = &heap->blocks[low];
    cut->address = block->address;
    cut->size = size;
    cut->previous = block->previous;
    cut->next = id;
    cut->index_slot = STATE_ALLOCATED;
    heap->blocks[cut->previous].next = low;
    block->previous = low;
    block->address += size;
    block->size -= size;
    return low;
}

/* Cuts block `id` down to its low `size` bytes. Returns the new block of the high bytes. */
ALWAYS_INLINE uint32_t heap_cut_high(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t high = heap_new_id(heap);
    struct block *block = &heap->blocks[id];
    struct block *cut = &heap->blocks[high];
    cut->address = block->address + size;
    cut->size = block->size - size;
    cut->previous = id;
    cut->next = block->next;
    cut->index_slot = STATE_ALLOCATED;
    heap->blocks[cut->next].previous = high;
    block->next = high;
    block->size = size;
    return high;
}

/* Merges the block above `id` into `id` and drops the id of the block above. The index of the
 * largest free block is not updated, so the caller must either free the merged block next or keep
 * it in use. */
ALWAYS_INLINE void heap_absorb_next(struct heap *heap, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    uint32_t high = block->next;
    block->size += heap->blocks[high].size;
    block->next = heap->blocks[high].next;
    heap->blocks[block->next].previous = id;
    heap_drop_id(heap, high);
}

/* Merges the block above into block `id`, which may be free already. */
ALWAYS_INLINE void heap_join_next(struct heap *heap, uint32_t id)
{
    heap_absorb_next(heap, id);
    heap_note_free(heap, id);
}

/* Merges the block below `id` into `id`, with the same rules as heap_absorb_next(). */
ALWAYS_INLINE void heap_absorb_previous(struct heap *heap, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    uint32_t low = block->previous;
    block->address = heap->blocks[low].address;
    block->size += heap->blocks[low].size;
    block->previous = heap->blocks[low].previous;
    heap->blocks[block->previous].next = id;
    heap_drop_id(heap, low);
}

/* Merges the block below into block `id`, which may be free already. */
ALWAYS_INLINE void heap_join_previous(struct heap *heap, uint32_t id)
{
    heap_absorb_previous(heap, id);
    heap_note_free(heap, id);
}

/* Ends the replay with a failure. */
ALWAYS_INLINE void heap_fail(struct heap *heap, const char *failure)
{
    heap->failure = failure;
    heap->heap_changed = true;
}

/* Sets the failure "out of memory" if `done` is false. Returns `done`. */
ALWAYS_INLINE bool heap_needs(struct heap *heap, bool done)
{
    if (UNLIKELY(!done))
        heap_fail(heap, OUT_OF_MEMORY);
    return done;
}

/* Records that a capacity larger by at least `bytes` may change a decision. */
ALWAYS_INLINE void differs_from(struct heap *heap, uint64_t bytes)
{
    if (heap->same_for >= bytes)
        heap->same_for = bytes == 0 ? 0 : bytes - 1;
}

/* Returns whether the capacity allows `size` more mapped bytes. The behaviour of every heap except
 * a pool depends on its capacity only through this function. */
ALWAYS_INLINE bool heap_has_room(struct heap *heap, uint64_t size)
{
    uint64_t room = heap->limit - heap->mapped;
    if (LIKELY(size <= room))
        return true;
    differs_from(heap, size - room);
    return false;
}

extern const char heap_exhausted[]; /* a failure that ends the run without an error */

/* Ends the run because the allocator was refused memory for its own tables. Returns NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_exhaust(struct heap *heap)
{
    heap_fail(heap, heap_exhausted);
    return NO_BLOCK;
}

/* Ends the run if `id` is NO_BLOCK, because the allocator was refused memory for its own tables.
 * Returns `id`. */
ALWAYS_INLINE uint32_t heap_need(struct heap *heap, uint32_t id)
{
    return id != NO_BLOCK || heap->failure != NULL ? id : heap_exhaust(heap);
}

/* Returns whether the current event must stop, because the heap has failed or a growth was
 * refused. */
ALWAYS_INLINE bool heap_is_stopped(const struct heap *heap)
{
    return heap->failure != NULL || heap->has_refused;
}

/* Records that the capacity does not allow a growth. Returns NO_BLOCK. */
uint32_t heap_refuse(struct heap *heap);

/* Ends the replay if all addresses are used and the heap has no capacity. A heap with a capacity
 * refuses the request instead. */
void heap_fail_beyond(struct heap *heap);

/* Raises the break by `size` and returns the block of the new memory, or NO_BLOCK if the capacity
 * does not allow it. The block is waste until the family sets its state. */
ALWAYS_INLINE uint32_t heap_extend(struct heap *heap, uint64_t size)
{
    if (UNLIKELY(!heap_has_room(heap, size)))
        return heap_refuse(heap);
    if (UNLIKELY(size > MAX_BREAK - heap->brk)) {
        heap_fail_beyond(heap);
        return NO_BLOCK;
    }
    uint32_t id = heap_new_id(heap);
    uint32_t last = heap_last(heap);
    heap->blocks[id] = (struct block){
        .address = heap->brk,
        .size = size,
        .previous = last,
        .next = NO_BLOCK,
        .index_slot = STATE_WASTE,
    };
    heap->blocks[last].next = id;
    heap->blocks[NO_BLOCK].previous = id;
    heap->brk += size;
    heap->mapped += size;
    heap->counters.system_calls++;
    heap->heap_changed = true;
    return id;
}

/* Lowers the break by `size` bytes, at most the size of the last block. The last block must not be
 * in an index. Drops the block if no bytes of it remain. Returns whether bytes remain. */
bool heap_lower(struct heap *heap, uint64_t size);

/* Reserves addresses for a segment at the next multiple of both `alignment` and the page. Returns
 * its only block, a hole. Returns NO_BLOCK, with the heap's failure set, if memory or addresses are
 * exhausted. Makes two blocks. */
uint32_t heap_reserve_segment(struct heap *heap, uint64_t size, uint64_t alignment);

/* Maps a segment at the next multiple of both `alignment` and the page. Returns its only block,
 * which is waste until the family sets its state. Returns NO_BLOCK if the capacity does not allow
 * the segment. Returns NO_BLOCK, with the heap's failure set, if memory or addresses are exhausted.
 * Makes two blocks. */
uint32_t heap_map_segment(struct heap *heap, uint64_t size, uint64_t alignment);

/* Maps a segment that replaces a block of `replaced` bytes, as mremap() does. Only the difference
 * counts against the capacity. The caller frees the replaced block next. Returns the new block like
 * heap_map_segment(). */
uint32_t heap_map_in_place_of(struct heap *heap, uint64_t size, uint64_t replaced);

/* Unmaps a mapped segment that consists of one block. The block must not be in an index. */
void heap_unmap_segment(struct heap *heap, uint32_t id);

/* Unmaps a block and makes it a hole, which keeps its addresses. The block must not be in an
 * index. */
void heap_unmap(struct heap *heap, uint32_t id);

/* Maps a hole. The block is waste until the family sets its state. Returns false without a change
 * if the capacity does not allow the mapping. */
bool heap_map(struct heap *heap, uint32_t id);

/* Sets the state of a block to a STATE_ value and updates the counters. Holes need heap_map() and
 * heap_unmap() instead. For families that keep their free blocks themselves: the block must not be
 * in an index. */
ALWAYS_INLINE void heap_mark(struct heap *heap, uint32_t id, uint32_t state)
{
    struct block *block = &heap->blocks[id];
    struct counters *counters = &heap->counters;
    counters->free_blocks -= block->index_slot == STATE_FREE;
    counters->cached_blocks -= block->index_slot == STATE_CACHED;
    counters->allocated -= block->index_slot == STATE_ALLOCATED ? block->size : 0;
    block->index_slot = state;
    counters->cached_blocks += state == STATE_CACHED;
    counters->allocated += state == STATE_ALLOCATED ? block->size : 0;
    if (state == STATE_FREE)
        heap_count_free(heap, id);
}

/* Cuts a block down to its low `size` bytes. Returns the new block of the high bytes, in the same
 * state. The block must not be in an index. */
ALWAYS_INLINE uint32_t heap_cut_off(struct heap *heap, uint32_t id, uint64_t size)
{
    uint32_t state = heap->blocks[id].index_slot;
    uint32_t high = heap_cut_high(heap, id, size);
    heap->blocks[high].index_slot = state;
    heap->counters.cached_blocks += state == STATE_CACHED;
    if (state == STATE_FREE)
        heap_count_free(heap, high);
    return high;
}

/* Joins consecutive blocks with a total of `size` bytes, from `lowest` upwards, to one block of
 * waste. The blocks must not be in an index. */
void heap_join_all(struct heap *heap, uint32_t lowest, uint64_t size);

ALWAYS_INLINE void count_search(struct heap *heap, uint64_t visited)
{
    heap->counters.searches++;
    heap->counters.visited += visited;
    if (visited > heap->counters.visited_worst)
        heap->counters.visited_worst = visited;
}

/* Restores the search counters of `before`, because later searches did not serve the program. */
ALWAYS_INLINE void forget_searches(struct heap *heap, const struct counters *before)
{
    heap->counters.searches = before->searches;
    heap->counters.visited = before->visited;
    heap->counters.visited_worst = before->visited_worst;
}

/* Counts a deallocation that visited `visited` blocks to find the place of its block. `coalescings`
 * is the value of that counter before the deallocation. */
ALWAYS_INLINE void count_deallocation(struct heap *heap, uint64_t visited, uint64_t coalescings)
{
    heap->counters.deallocations++;
    heap->counters.coalescing_frees += heap->counters.coalescings != coalescings;
    heap->counters.visited_at_free += visited;
    if (visited > heap->counters.visited_at_free_worst)
        heap->counters.visited_at_free_worst = visited;
}

ALWAYS_INLINE uint64_t round_up(uint64_t size, uint64_t unit)
{
    if (LIKELY((unit & (unit - 1)) == 0))
        return (size + unit - 1) & -unit; /* the usual case; a division is slow */
    uint64_t rest = size % unit;
    return rest == 0 ? size : size + (unit - rest);
}

#endif
