/* Arenas of Python's own allocator, and the tables that describe them. */
#include "layers/pymalloc/arenas.h"

enum { SLOT = 48, FIRST_SLOTS = 16, ENTRY = 8 };

/* Levels of the tree of arenas: the address bits below a node and below an entry, and the bytes of
 * a node. */
static const struct level {
    unsigned bits;
    unsigned entry_bits;
    uint64_t bytes;
} levels[] = {{49, 34, 262144}, {34, 20, 131072}};

/* Allocates memory for a table, or reallocates the table `old`, in the family. Searches for this
 * memory are not counted. */
static uint32_t get_table(struct heap *heap, uint32_t old, uint64_t bytes, bool is_zeroed)
{
    const struct layer *base = heap->pymalloc->base;
    const struct request request = heap->request;
    const struct layer *front = heap->front;
    const struct counters before = heap->counters;
    heap->request.size = bytes;
    heap->request.alignment = 0;
    heap->request.is_zeroed = is_zeroed;
    heap->front = base;
    if (old != NO_BLOCK)
        heap_mark(heap, old, STATE_ALLOCATED);
    uint64_t size = overhead_gross(&heap->setting, bytes);
    uint32_t id = old == NO_BLOCK ? base->allocate(heap, size)
                                  : layer_reallocate(heap, base, old, size);
    if (id != NO_BLOCK || old != NO_BLOCK)
        heap_mark(heap, id != NO_BLOCK ? id : old, STATE_TABLE);
    forget_searches(heap, &before);
    heap->request = request;
    heap->front = front;
    return id;
}

static bool grow_table(struct heap *heap)
{
    struct pymalloc *python = heap->pymalloc;
    uint64_t slots = python->slots == 0 ? FIRST_SLOTS : 2 * python->slots;
    uint32_t table = get_table(heap, python->table, SLOT * slots, false);
    if (table == NO_BLOCK)
        return false;
    python->slots = slots;
    python->table = table;
    heap_touch(heap, heap->blocks[python->table].address + heap->setting.payload,
               SLOT * python->slots);
    return true;
}

/* Returns the block of a tree node, which is created if it does not exist. Returns NO_BLOCK if the
 * family refuses the memory or, with the heap's failure set, if memory or addresses are
 * exhausted. */
static uint32_t find_node(struct heap *heap, const struct level *level, uint64_t number)
{
    struct pymalloc *python = heap->pymalloc;
    for (uint32_t i = 0; i < python->node_count; i++)
        if (python->nodes[i].bits == level->bits && python->nodes[i].number == number)
            return python->nodes[i].block;
    if (!heap_needs(heap, TABLE_SPARE(python->nodes, python->node_count, 1, UINT32_MAX,
                                     python->node_capacity)))
        return NO_BLOCK;
    uint32_t block = get_table(heap, NO_BLOCK, level->bytes, true);
    if (block != NO_BLOCK)
        python->nodes[python->node_count++] = (struct node){level->bits, number, block};
    return block;
}

/* Enters an address in the tree. Returns false if the family refuses the memory or, with the heap's
 * failure set, if memory or addresses are exhausted. */
static bool note(struct heap *heap, uint64_t address)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const struct level *level = &levels[i];
        uint32_t block = find_node(heap, level, address >> level->bits);
        if (block == NO_BLOCK)
            return false;
        uint64_t place = (address >> level->entry_bits) % (level->bytes / ENTRY);
        heap_touch(heap, heap->blocks[block].address + heap->setting.payload + place * ENTRY,
                   ENTRY);
    }
    return true;
}

/* Maps the segment of an arena, which begins `arena_skew` bytes after a multiple of
 * ARENA_ALIGNMENT. */
static uint32_t map(struct heap *heap)
{
    uint64_t skew = heap->pymalloc->arena_skew;
    uint64_t size = arena_size(heap);
    if (!heap_has_room(heap, size + skew))
        return heap_refuse(heap);
    heap->counters.growths++;
    if (skew == 0)
        return heap_map_segment(heap, size, ARENA_ALIGNMENT);
    uint32_t before = heap_map_segment(heap, skew, ARENA_ALIGNMENT);
    if (before == NO_BLOCK)
        return NO_BLOCK;
    uint32_t block = heap_map_segment(heap, size, 1);
    heap_unmap_segment(heap, before);
    return block;
}

static void enter(struct pymalloc *python, uint32_t number)
{
    struct arena *arena = &python->arenas[number];
    uint32_t count = arena->free_count;
    if (count == 0)
        return;
    arena->older = python->newest[count];
    arena->newer = NO_ARENA;
    if (arena->older == NO_ARENA)
        python->oldest[count] = number;
    else
        python->arenas[arena->older].newer = number;
    python->newest[count] = number;
}

static void leave(struct pymalloc *python, uint32_t number)
{
    const struct arena *arena = &python->arenas[number];
    if (arena->free_count == 0)
        return;
    if (arena->older == NO_ARENA)
        python->oldest[arena->free_count] = arena->newer;
    else
        python->arenas[arena->older].newer = arena->newer;
    if (arena->newer == NO_ARENA)
        python->newest[arena->free_count] = arena->older;
    else
        python->arenas[arena->newer].older = arena->older;
}

/* Returns the arena with the fewest free pools, but at least one, and the newest among equals.
 * Returns NO_ARENA without such an arena. */
static uint32_t first_arena(const struct pymalloc *python)
{
    for (uint32_t count = 1; count <= POOLS; count++)
        if (python->newest[count] != NO_ARENA)
            return python->newest[count];
    return NO_ARENA;
}

static bool is_last(const struct pymalloc *python, uint32_t number)
{
    for (uint32_t count = POOLS; count > 0; count--)
        if (python->oldest[count] != NO_ARENA)
            return python->oldest[count] == number;
    return false;
}

/* Returns the number of an unused arena. Returns NO_ARENA, with the heap's failure set, if memory
 * is exhausted. */
static uint32_t unused_arena(struct heap *heap)
{
    struct pymalloc *python = heap->pymalloc;
    uint32_t number = python->arena_unused;
    if (number != NO_ARENA) {
        python->arena_unused = python->arenas[number].older;
        return number;
    }
    if (!heap_needs(heap, TABLE_SPARE(python->arenas, python->arena_count, 1, UINT32_MAX / POOLS,
                     python->arena_capacity)))
        return NO_ARENA;
    return python->arena_count++;
}

/* Releases the number of an arena that could not be created. Returns NO_ARENA. */
static uint32_t give_number_back(struct pymalloc *python, uint32_t number)
{
    python->arenas[number].is_live = false;
    python->arenas[number].older = python->arena_unused;
    python->arena_unused = number;
    return NO_ARENA;
}

/* Creates an arena. Returns NO_ARENA if the memory is refused or, with the heap's failure set, if
 * memory or addresses are exhausted. */
static uint32_t new_arena(struct heap *heap)
{
    struct pymalloc *python = heap->pymalloc;
    bool has_tables = heap->setting.mechanism;
    uint32_t number = unused_arena(heap);
    if (number == NO_ARENA)
        return NO_ARENA;
    if (!heap_reserve_more(heap, 8) ||
        (has_tables && python->live == python->slots && !grow_table(heap)))
        return give_number_back(python, number);
    uint32_t block = map(heap);
    if (block == NO_BLOCK)
        return give_number_back(python, number);
    uint64_t base = heap->blocks[block].address;
    uint64_t skip = (pool_size(heap) - base % pool_size(heap)) % pool_size(heap);
    if (has_tables && pool_size(heap) > SMALL_POOL &&
        (!note(heap, base) || (skip > 0 && !note(heap, base + arena_size(heap))))) {
        heap_unmap_segment(heap, block);
        return give_number_back(python, number);
    }
    struct arena *arena = &python->arenas[number];
    *arena = (struct arena){
        .base = base,
        .number = python->made++,
        .lowest = block,
        .is_live = true,
        .rest = block,
        .total = skip > 0 ? POOLS - 1 : POOLS,
        .free_count = skip > 0 ? POOLS - 1 : POOLS,
    };
    if (skip > 0) {
        arena->rest = heap_cut_off(heap, block, skip);
        heap_cut_off(heap, arena->rest, arena->total * pool_size(heap));
    }
    heap_mark(heap, arena->rest, STATE_CACHED);
    python->live++;
    enter(python, number);
    return number;
}

uint32_t pymalloc_take_pool(struct heap *heap)
{
    struct pymalloc *python = heap->pymalloc;
    uint32_t number = first_arena(python);
    if (number == NO_ARENA)
        number = new_arena(heap);
    if (number == NO_ARENA || !heap_reserve_more(heap, 1))
        return NO_POOL;
    struct arena *arena = &python->arenas[number];
    leave(python, number);
    arena->free_count--;
    enter(python, number);
    uint32_t pool = arena->emptied;
    if (pool != NO_POOL) {
        arena->emptied = pool_of(python, pool)->next;
        return pool;
    }
    uint32_t block = arena->rest;
    if (heap->blocks[block].size > pool_size(heap))
        arena->rest = heap_cut_off(heap, block, pool_size(heap));
    arena->pools[arena->carved] = (struct pool){.lowest = block};
    return number * POOLS + ++arena->carved;
}

void pymalloc_join(struct heap *heap, uint32_t lowest, uint64_t size)
{
    struct owned *owned = heap->pymalloc->owned;
    uint32_t id = lowest;
    for (uint64_t seen = 0; seen < size; id = heap->blocks[id].next) {
        seen += heap->blocks[id].size;
        owned[id].pool = NO_POOL;
    }
    heap_join_all(heap, lowest, size);
    heap_mark(heap, lowest, STATE_CACHED);
}

void pymalloc_give_pool(struct heap *heap, uint32_t pool)
{
    struct pymalloc *python = heap->pymalloc;
    uint32_t number = (pool - 1) / POOLS;
    struct arena *arena = &python->arenas[number];
    bool is_kept = python->keeps_last && is_last(python, number);
    pool_of(python, pool)->next = arena->emptied;
    arena->emptied = pool;
    leave(python, number);
    arena->free_count++;
    if (arena->free_count < arena->total || is_kept) {
        enter(python, number);
        if (python->discard_pools) {
            pool_of(python, pool)->size = 0; /* the discarded pages held its list of free blocks */
            heap_discard(heap, heap->blocks[pool_of(python, pool)->lowest].address,
                         pool_size(heap));
        }
        return;
    }
    pymalloc_join(heap, arena->lowest, arena_size(heap));
    heap_unmap_segment(heap, arena->lowest);
    arena->is_live = false;
    arena->older = python->arena_unused;
    python->arena_unused = number;
    python->live--;
}
