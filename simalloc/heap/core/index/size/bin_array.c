#include "index/size/bin_array.h"

#include <stdlib.h>
#include <string.h>

#include "index/size/bin_heap.h"

enum { FAN = 4, MIN_ROOM = 4 };

/* Array of a bin with the block table, which stores the position of each entry. */
struct heap_array {
    struct bin_entry *entries;
    uint32_t count;
    struct block *blocks;
};

static struct heap_array array_of(const struct bin_arrays *arrays, uint32_t number,
                                  struct block *blocks)
{
    const struct bin_array *array = &arrays->array[number];
    return (struct heap_array){&arrays->table[array->start], array->count, blocks};
}

static void put(const struct heap_array *heap, uint32_t at, struct bin_entry entry)
{
    heap->entries[at] = entry;
    heap->blocks[entry.block].index_slot = at;
}

/* Returns the index of the lowest sibling in the group that begins at entry `child`. */
static uint32_t lowest(const struct heap_array *heap, size_t child)
{
    size_t end = child + FAN < heap->count ? child + FAN : heap->count;
    size_t low = child;
    for (size_t other = child + 1; other < end; other++)
        low = heap->entries[other].address < heap->entries[low].address ? other : low;
    return (uint32_t)low;
}

/* Inserts an entry at a hole or above it. Higher parents move down. */
static void rise(const struct heap_array *heap, uint32_t hole, struct bin_entry entry)
{
    while (hole >= FAN) {
        uint32_t parent = hole / FAN - 1;
        if (heap->entries[parent].address < entry.address)
            break;
        put(heap, hole, heap->entries[parent]);
        hole = parent;
    }
    put(heap, hole, entry);
}

/* Inserts an entry at a hole or below it. The lowest children move up. */
static void sink(const struct heap_array *heap, uint32_t hole, struct bin_entry entry)
{
    size_t child;
    while ((child = FAN * ((size_t)hole + 1)) < heap->count) {
        uint32_t low = lowest(heap, child);
        if (heap->entries[low].address > entry.address)
            break;
        put(heap, hole, heap->entries[low]);
        hole = low;
    }
    put(heap, hole, entry);
}

/* Returns the size of the room for an array of `count` entries. */
static size_t room_for(size_t count)
{
    size_t room = MIN_ROOM;
    while (room < count)
        room *= 2;
    return room;
}

/* Maximum number of blocks that enter in a batch. A buddy system halves a block at most 62 times
 * per event. */
enum { MAX_ENTERING = 64 * BATCH };

/* Returns the maximum number of entries that a batch adds to the table. A full array moves to a
 * room of twice its size. In addition, each block that enters needs two entries for the first room
 * of its array, and four for later rooms. */
static size_t batch_needs(uint64_t free_blocks)
{
    return 2 * free_blocks + 6 * MAX_ENTERING;
}

/* Moves an array to a room behind all other rooms. `entries` are its present entries. */
static void give_room(struct bin_arrays *arrays, struct bin_array *array, size_t room,
                      const struct bin_entry *entries)
{
    array->start = arrays->used;
    array->room = room;
    arrays->used += room;
    memcpy(&arrays->table[array->start], entries, array->count * sizeof *entries);
}

/* Moves all arrays to a new table. Each array gets the smallest room that is sufficient. */
static bool pack(struct bin_arrays *arrays, uint64_t free_blocks)
{
    size_t rooms = 0;
    for (uint32_t number = 0; number < arrays->bins; number++)
        if (arrays->array[number].count > 0)
            rooms += room_for(arrays->array[number].count);
    size_t needs = batch_needs(free_blocks);
    size_t capacity = rooms + needs + needs / 4;
    struct bin_entry *packed = malloc(capacity * sizeof *packed);
    if (packed == NULL)
        return false;
    struct bin_entry *old = arrays->table;
    arrays->table = packed;
    arrays->capacity = capacity;
    arrays->used = 0;
    for (uint32_t number = 0; number < arrays->bins; number++) {
        struct bin_array *array = &arrays->array[number];
        size_t room = array->count > 0 ? room_for(array->count) : 0;
        give_room(arrays, array, room, &old[array->start]);
    }
    free(old);
    return true;
}

bool bin_arrays_reserve(struct bin_arrays *arrays, uint64_t free_blocks)
{
    return arrays->capacity - arrays->used >= batch_needs(free_blocks) ||
           pack(arrays, free_blocks);
}

void bin_arrays_release(struct bin_arrays *arrays)
{
    if (arrays != NULL)
        free(arrays->table);
    free(arrays);
}

/* Fills an array with the blocks of a linked heap. */
static void fill(struct bin_arrays *arrays, uint32_t number, struct block *blocks,
                 const uint32_t *siblings, uint32_t first)
{
    struct bin_array *array = &arrays->array[number];
    struct bin_entry *entries = &arrays->table[arrays->used];
    for (uint32_t id = bin_heap_walk(blocks, siblings, first); id != NO_BLOCK;
         id = bin_heap_walk(blocks, siblings, id))
        entries[array->count++] = (struct bin_entry){blocks[id].address, id};
    if (array->count == 0)
        return;
    array->start = arrays->used;
    array->room = room_for(array->count);
    arrays->used += array->room;
    struct heap_array heap = array_of(arrays, number, blocks);
    for (uint32_t entry = array->count; entry-- > 0;)
        sink(&heap, entry, entries[entry]);
}

struct bin_arrays *bin_arrays_make(const uint32_t *bins, uint32_t count, struct block *blocks,
                                   const uint32_t *siblings, uint64_t free_blocks)
{
    struct bin_arrays *arrays =
        calloc(1, sizeof *arrays + (size_t)count * sizeof arrays->array[0]);
    if (arrays == NULL)
        return NULL;
    arrays->bins = count;
    arrays->capacity = 2 * free_blocks + (size_t)MIN_ROOM * count + batch_needs(free_blocks);
    arrays->table = malloc(arrays->capacity * sizeof *arrays->table);
    if (arrays->table == NULL) {
        bin_arrays_release(arrays);
        return NULL;
    }
    for (uint32_t number = 0; number < count; number++)
        if (bins[number] != NO_BLOCK)
            fill(arrays, number, blocks, siblings, bins[number]);
    return arrays;
}

void bin_arrays_link(const struct bin_arrays *arrays, uint32_t *bins, struct block *blocks,
                     uint32_t *siblings)
{
    for (uint32_t number = 0; number < arrays->bins; number++) {
        uint32_t first = bins[number];
        if (first == NO_BLOCK)
            continue;
        blocks[first].family_data = siblings[first] = NO_BLOCK;
        struct heap_array heap = array_of(arrays, number, blocks);
        for (uint32_t entry = 0; entry < heap.count; entry++)
            bin_heap_insert(&bins[number], blocks, siblings, heap.entries[entry].block);
    }
}

bool bin_array_insert(struct bin_arrays *arrays, uint32_t *bins, uint32_t number,
                      struct block *blocks, uint32_t block)
{
    uint32_t first = bins[number];
    if (first == NO_BLOCK || blocks[block].address < blocks[first].address) {
        bins[number] = block;
        blocks[block].index_slot = STATE_FREE;
        if (first == NO_BLOCK)
            return true;
        block = first;
    }
    struct bin_array *array = &arrays->array[number];
    if (UNLIKELY(array->count == array->room))
        give_room(arrays, array, room_for((size_t)array->count + 1),
                  &arrays->table[array->start]);
    uint32_t last = array->count++;
    struct heap_array heap = array_of(arrays, number, blocks);
    rise(&heap, last, (struct bin_entry){blocks[block].address, block});
    return false;
}

bool bin_array_remove(struct bin_arrays *arrays, uint32_t *bins, uint32_t number,
                      struct block *blocks, uint32_t block)
{
    struct bin_array *array = &arrays->array[number];
    uint32_t hole = blocks[block].index_slot;
    blocks[block].index_slot = STATE_ALLOCATED;
    if (hole == STATE_FREE) {
        if (array->count == 0) {
            bins[number] = NO_BLOCK;
            return true;
        }
        struct heap_array heap = array_of(arrays, number, blocks);
        hole = lowest(&heap, 0);
        bins[number] = heap.entries[hole].block;
        blocks[bins[number]].index_slot = STATE_FREE;
    }
    array->count--;
    struct heap_array heap = array_of(arrays, number, blocks);
    struct bin_entry last = heap.entries[heap.count];
    if (hole == heap.count)
        return false;
    if (hole >= FAN && last.address < heap.entries[hole / FAN - 1].address)
        rise(&heap, hole, last);
    else
        sink(&heap, hole, last);
    return false;
}

static const char *check_entry(struct bin_check *check, const struct heap_array *heap,
                               uint32_t number, uint32_t first, uint32_t at)
{
    struct bin_entry entry = heap->entries[at];
    uint64_t parent =
        at < FAN ? check->blocks[first].address : heap->entries[at / FAN - 1].address;
    if (check->blocks[entry.block].index_slot != at)
        return "a block of a bin records the wrong entry";
    if (check->blocks[entry.block].address != entry.address)
        return "an entry of a bin has the wrong address";
    if (entry.address <= parent)
        return "a bin is out of order";
    return bin_check_meet(check, number, entry.block);
}

const char *bin_array_check(struct bin_check *check, uint32_t number, uint32_t first)
{
    const struct bin_arrays *arrays = check->tables->arrays;
    const struct bin_array *array = &arrays->array[number];
    if (array->count > array->room || array->start + array->room > arrays->used ||
        arrays->used > arrays->capacity)
        return "a bin has more blocks than its array can hold";
    const char *wrong = bin_check_meet(check, number, first);
    struct heap_array heap = {&arrays->table[array->start], array->count, NULL};
    for (uint32_t at = 0; at < heap.count && wrong == NULL; at++)
        wrong = check_entry(check, &heap, number, first, at);
    return wrong;
}
