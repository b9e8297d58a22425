/* The space of every family: addresses tiled by blocks.
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
 *   segment    a run of adjacent blocks; the break segment begins at 0 and ends at the break,
 *              mapped segments are anywhere above it
 *   break      the end of the break segment; raised by a growth, lowered by trimming
 *   mapped     memory requested from the system and not returned: the heap of all measures
 *   hole       addresses that are not mapped; holes separate segments, so that no blocks merge
 *              across them
 *   neighbour  the block before or after in the segment, reached by links, so that coalescing
 *              needs no headers
 *   page       a unit of residence: resident from the first write until it is returned
 *   id         name of a block: its index in the block table while it exists
 *   edge       a block of 0 bytes at both ends of a segment, the neighbour above the last block
 *              and below the first, so that every block has two neighbours; never free. The edge
 *              of the break segment is block 0
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

#define NO_BLOCK 0 /* the id of no block of the heap, but of the break segment's edge */
#define MAX_BREAK (UINT64_C(1) << 62) /* mapped segments lie from there to twice as far */
#define OUT_OF_MEMORY "no memory is left for the simulated heap" /* a failure */

/* The states of a block without a place in an index. Any lower `index_slot` is the place of a free
 * block in an index. */
#define STATE_ALLOCATED UINT32_MAX
#define STATE_WASTE (UINT32_MAX - 1)  /* an unusable block */
#define STATE_CACHED (UINT32_MAX - 2) /* free to the program, and not to its neighbours */
#define STATE_TABLE (UINT32_MAX - 3)  /* the allocator keeps it for itself */
#define STATE_HOLE (UINT32_MAX - 4)   /* not mapped; an edge is one of no bytes */
#define STATE_FREE (UINT32_MAX - 5)   /* free, and in no index: kept by the family itself */

struct block {
    uint64_t address;
    uint64_t size;
    uint32_t previous; /* the neighbour below: previous->address + previous->size == address */
    uint32_t next;     /* the neighbour above; while the id is unused, the next unused id */
    uint32_t index_slot; /* the node of the free index that holds it, or a STATE_ value */
    uint32_t family_data; /* the family's own; of an edge: its number among the segments */
};

struct counters {
    uint64_t growths;
    uint64_t system_calls; /* calls that map, unmap, move the break, or return pages */
    uint64_t splits;
    uint64_t coalescings;
    uint64_t searches;
    uint64_t visited; /* by all searches together */
    uint64_t visited_worst;
    uint64_t deallocations;   /* deallocations that searched for the place of the block */
    uint64_t visited_at_free; /* blocks visited by all these searches */
    uint64_t visited_at_free_worst;
    uint64_t coalescing_frees; /* deallocations that merged blocks */
    uint64_t free_blocks;   /* now, without the cached ones */
    uint64_t cached_blocks; /* now */
    uint64_t allocated;     /* scaled bytes of allocated blocks, now */
};

/* Parameters that all families have, named as in their descriptions. Set before anything else. */
struct setting {
    uint64_t scale;
    uint64_t capacity; /* bytes of the program that the heap may have mapped; 0: any number */
    uint64_t header; /* bytes of a block before the requested bytes */
    uint64_t footer;
    uint64_t alignment; /* sizes of blocks are multiples of it */
    uint64_t minimum;   /* size of a block */
    uint64_t mechanism; /* nonzero if the allocator's own tables are in the heap */
    uint64_t word;      /* bytes in a machine word: 4 or 8 */
    uint64_t quick;     /* largest block of the quick lists; 0: no quick lists */
    uint64_t cache;     /* maximum number of freed blocks kept uncoalesced */
    uint64_t count_frees; /* nonzero if deallocations are counted, which takes time */
    uint64_t memalign;  /* nonzero if requested alignments are served */
    uint64_t guaranteed; /* all blocks lie at multiples of it */
    uint64_t natural_limit; /* blocks as large as what divides this lie at multiples of it */
    uint64_t min_remainder; /* minimum bytes of a returned remainder; 0: remainders are not
                               * returned */
    uint64_t remainder_unit; /* and is a multiple of it */
    uint64_t columns;    /* COLUMN_... bits of the trace's columns that a policy in Python reads */
    uint64_t payload;    /* bytes of a block in front of what the program may write */
    uint64_t threads; /* number of threads of the program, as far as known */
    uint64_t other_threads; /* number of threads, besides 0, started before the first event */
    bool program_writes; /* every byte that it asks for, or none */
    uint64_t page;       /* bytes; unit of residence, and alignment of mapped segments */
};

/* The current event's request. A field is 0 if the trace has no such column or the family does not
 * use it. */
struct request {
    uint64_t size;      /* bytes of the program */
    uint64_t alignment; /* scaled bytes; 0: no alignment was requested */
    uint64_t time;      /* nanoseconds */
    uint64_t unwritten; /* bytes of the object, its last ones, that nobody ever writes */
    uint64_t event;     /* its number, from 0 */
    uint32_t thread;
    uint32_t site;
    uint32_t stream; /* stream of a device */
    uint32_t pool;
    bool is_zeroed; /* as calloc does */
    bool is_freed;  /* a family that refuses has freed the object, as some reallocs to 0 bytes do */
};

/* Segments and holes that a call mapped, or unmapped if size < 0. */
struct map_call {
    int64_t event; /* index of the served event, from 0 */
    int64_t address;
    int64_t size;
};

/* All of these calls, if they are kept. */
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

/* A heap of any family. After each event, as heap_check() verifies on request:
 *
 *   of each block            previous->address + previous->size == address
 *                            next->previous == the block itself
 *   mapped + untouched       == sum of the sizes of all blocks except holes
 *   counters.allocated       == sum of the sizes of the allocated blocks
 *   counters.cached_blocks   == number of blocks in STATE_CACHED
 *   counters.free_blocks     == number of blocks that the family's own structures hold as free
 *   segments[i] == edge      <=> blocks[edge].family_data == i */
struct heap {
    uint64_t brk;
    uint64_t mapped; /* scaled bytes: those below the break, and of mapped segments; <= limit */
    uint64_t limit;  /* the capacity in scaled bytes, or UINT64_MAX */
    uint64_t untouched; /* bytes of a pool that no block has reached yet; they are not mapped */
    uint64_t same_for; /* scaled bytes by which the capacity can rise without another decision */
    struct block *blocks;
    uint32_t capacity;   /* number of entries of the block table */
    uint32_t used;       /* ids below this have been in use; those above never */
    uint32_t unused;     /* head of the chain of unused ids */
    const char *failure; /* reason that the replay cannot go on, or NULL */
    /* 1 if the heap has grown or shrunk, or an event failed; read after each request.
     * PAGES_MAY_CHANGE also stops the loop that reads sizes only, where pages matter. */
    uint8_t heap_changed;
    bool may_refuse;   /* a request may be refused without a failure */
    bool has_refused;  /* a growth was refused in the event under way */
    bool cannot_start; /* the capacity does not allow what the allocator takes before any event */
    bool new_memory_is_apart; /* true if a free block at the break does not merge with it */
    uint32_t spare; /* blocks that a batch of events may make */
    uint64_t reserved; /* number of further ids reserved by an event, if verified */
    struct counters counters;
    struct setting setting;
    const struct layer *front; /* layer of the program's calls; set before a batch */
    /* Freed blocks that are not coalesced yet; NULL: none ever are. */
    struct free_cache *free_cache;
    struct pymalloc *pymalloc; /* Python's own allocator on top of the family, or NULL */
    struct trimming *trimming; /* rule for lowering the break; NULL: never */
    struct free_counting *free_counting; /* NULL: frees are not counted, or by the family */
    uint32_t *segments;        /* the edges of the mapped segments, in no order */
    uint32_t segment_count;
    uint32_t segment_capacity;
    uint64_t segment_address; /* lowest address for the next segment */
    uint64_t segment_alignment; /* alignment of the next segment; 0: any address */
    const struct layer *family; /* layer below the front */
    struct request request;
    uint64_t reported_arenas; /* maximum number of arenas that a family may report */
    struct residence *residence; /* NULL: resident pages are not requested */
    struct residence *touched; /* pages touched since they were mapped; NULL: not requested */
    struct largest_free *largest_free; /* index of the largest free block; NULL: not requested */
    struct mappings mappings;
};

/* Events are carried out by the batch, before which memory for all of them is made sure of. */
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

/* Returns the scaled bytes of the largest free block; cached blocks are excluded. Under a capacity
 * the bytes that can still be mapped count as one block, together with a free block at the break. */
uint64_t heap_largest_free(const struct heap *heap);

/* Returns the same if the largest of all free blocks is known. `merges`: new memory joins a free block
 * at the break. */
uint64_t heap_with_room(const struct heap *heap, uint64_t largest, bool merges);

/* Makes an empty heap of memory that is zero except for its setting and spare blocks. Returns false
 * if memory is exhausted. */
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

/* Makes sure that a batch finds ids enough; false when memory is exhausted. */
ALWAYS_INLINE bool heap_reserve(struct heap *heap)
{
    return LIKELY(heap->capacity - heap->used >= heap->spare) ||
           heap_grow_table(heap, heap->spare);
}

/* Makes sure of `blocks` more ids than the family says that an event makes. The block table may
 * move. False, with the heap's failure set, when memory is exhausted. */
bool heap_reserve_more(struct heap *heap, uint64_t blocks);

ALWAYS_INLINE uint32_t heap_new_id(struct heap *heap)
{
    uint32_t id = heap->unused;
    if (id == NO_BLOCK)
        return heap->used++;
    heap->unused = heap->blocks[id].next;
    return id;
}

/* An unused id is the id of no free block. */
ALWAYS_INLINE void heap_drop_id(struct heap *heap, uint32_t id)
{
    heap->blocks[id].index_slot = STATE_WASTE;
    heap->blocks[id].next = heap->unused;
    heap->unused = id;
}

/* Notes a block that may be free and larger than before, for the index of the largest free block. */
void largest_free_note(struct heap *heap, uint32_t id);

/* Notes that a block has become larger, or free without being counted. */
ALWAYS_INLINE void heap_note_free(struct heap *heap, uint32_t id)
{
    if (UNLIKELY(heap->largest_free != NULL))
        largest_free_note(heap, id);
}

/* Counts a block that becomes free, as a family does that sets the block's state by itself. */
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

/* The lowest block, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_first(const struct heap *heap)
{
    return heap->blocks[NO_BLOCK].next;
}

/* The block that ends at the break, or NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_last(const struct heap *heap)
{
    return heap->blocks[NO_BLOCK].previous;
}

/* Cuts the low `size` bytes off block `id` and returns them, a new block. */
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

/* Cuts block `id` down to its low `size` bytes and returns the rest, a new block. */
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

/* Joins the neighbour above `id` to it; the neighbour's id is no more. The caller makes the joined
 * block free next, or it stays in use: the index of the largest free block is not notified. */
ALWAYS_INLINE void heap_absorb_next(struct heap *heap, uint32_t id)
{
    struct block *block = &heap->blocks[id];
    uint32_t high = block->next;
    block->size += heap->blocks[high].size;
    block->next = heap->blocks[high].next;
    heap->blocks[block->next].previous = id;
    heap_drop_id(heap, high);
}

/* The same for a block that may be free already. */
ALWAYS_INLINE void heap_join_next(struct heap *heap, uint32_t id)
{
    heap_absorb_next(heap, id);
    heap_note_free(heap, id);
}

/* Joins the neighbour below `id` to it, as heap_absorb_next() does. */
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

/* The same for a block that may be free already. */
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

/* Notes that a capacity that is larger by `bytes` or more may lead to another decision. */
ALWAYS_INLINE void differs_from(struct heap *heap, uint64_t bytes)
{
    if (heap->same_for >= bytes)
        heap->same_for = bytes == 0 ? 0 : bytes - 1;
}

/* Returns whether the capacity leaves room for `size` more mapped bytes. A heap other than a pool
 * depends on its capacity only through this result. */
ALWAYS_INLINE bool heap_has_room(struct heap *heap, uint64_t size)
{
    uint64_t room = heap->limit - heap->mapped;
    if (LIKELY(size <= room))
        return true;
    differs_from(heap, size - room);
    return false;
}

extern const char heap_exhausted[]; /* a failure that ends the run without an error */

/* Ends the run because memory that the allocator needs for itself was refused. Returns NO_BLOCK. */
ALWAYS_INLINE uint32_t heap_exhaust(struct heap *heap)
{
    heap_fail(heap, heap_exhausted);
    return NO_BLOCK;
}

/* Ends the run if memory that the allocator needs for itself was refused; returns `id`. */
ALWAYS_INLINE uint32_t heap_need(struct heap *heap, uint32_t id)
{
    return id != NO_BLOCK || heap->failure != NULL ? id : heap_exhaust(heap);
}

/* Returns whether the event under way cannot go on as usual: the heap has failed, or a growth was
 * refused. */
ALWAYS_INLINE bool heap_is_stopped(const struct heap *heap)
{
    return heap->failure != NULL || heap->has_refused;
}

/* Notes that the capacity does not allow a growth; returns NO_BLOCK. */
uint32_t heap_refuse(struct heap *heap);

/* Ends the replay because no address is left; a heap with a capacity refuses the request instead. */
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

/* Lowers the break by `size`, at most the size of the last block, which no index may hold. Removes
 * the block if nothing remains of it. Returns whether something remains. */
bool heap_lower(struct heap *heap, uint64_t size);

/* Takes addresses for a segment at the next higher multiple of `alignment`, and of the page, and
 * returns the one block that it is, a hole; NO_BLOCK, with the heap's failure set, when memory or
 * addresses are exhausted. Makes two blocks. */
uint32_t heap_reserve_segment(struct heap *heap, uint64_t size, uint64_t alignment);

/* Maps a segment at the next higher multiple of `alignment` and of the page. Returns its one block,
 * which is waste until the family sets its state. Returns NO_BLOCK if the capacity does not allow
 * it, or, with the heap's failure set, if memory or addresses are exhausted. Makes two blocks. */
uint32_t heap_map_segment(struct heap *heap, uint64_t size, uint64_t alignment);

/* Maps a segment that replaces a block of `replaced` bytes, as mremap() does: only the difference
 * counts against the capacity. The caller frees that block next. Returns the new block as
 * heap_map_segment() does. */
uint32_t heap_map_in_place_of(struct heap *heap, uint64_t size, uint64_t replaced);

/* Unmaps a mapped segment that is one block, which no index may hold. */
void heap_unmap_segment(struct heap *heap, uint32_t id);

/* Makes a hole of a block, which no index may hold: its addresses are kept, and mapped no more. */
void heap_unmap(struct heap *heap, uint32_t id);

/* Maps a hole; the block is waste until the family sets its state. Returns false without a change
 * if the capacity does not allow it. */
bool heap_map(struct heap *heap, uint32_t id);

/* Changes the state of a block, to one of the STATE_ values, and counts what that changes; holes
 * are heap_map()'s and heap_unmap()'s. For families that keep their free blocks themselves: no
 * index may hold it. */
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

/* Cuts a block down to its low `size` bytes and returns the rest, a new block in the same state.
 * As heap_mark(), for families that keep their free blocks themselves. */
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

/* Joins neighbours with a total of `size` bytes, starting at the block `lowest`, to one block of
 * waste. As heap_mark(). */
void heap_join_all(struct heap *heap, uint32_t lowest, uint64_t size);

ALWAYS_INLINE void count_search(struct heap *heap, uint64_t visited)
{
    heap->counters.searches++;
    heap->counters.visited += visited;
    if (visited > heap->counters.visited_worst)
        heap->counters.visited_worst = visited;
}

/* Restores the counts of searches of `before`, because later searches did not serve the program. */
ALWAYS_INLINE void forget_searches(struct heap *heap, const struct counters *before)
{
    heap->counters.searches = before->searches;
    heap->counters.visited = before->visited;
    heap->counters.visited_worst = before->visited_worst;
}

/* Counts a deallocation that visited `visited` blocks to find its block's place; `coalescings` is
 * the count before it. */
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
        return (size + unit - 1) & -unit; /* most are, and a division takes long */
    uint64_t rest = size % unit;
    return rest == 0 ? size : size + (unit - rest);
}

#endif
