#include "space/heap.h"

#include "space/residence.h"
#include "space/table.h"

bool heap_grow_table(struct heap *heap, uint64_t spare)
{
    return table_grow(&heap->blocks, sizeof *heap->blocks, heap->used, spare, STATE_FREE,
                      &heap->capacity);
}

bool heap_reserve_more(struct heap *heap, uint64_t blocks)
{
    uint64_t spare = heap->spare + blocks;
    heap->reserved += blocks;
    return heap_needs(heap, LIKELY(heap->capacity - heap->used >= spare) ||
                                heap_grow_table(heap, spare));
}

void heap_release(struct heap *heap)
{
    table_release(heap->blocks);
    heap->blocks = NULL;
    table_release(heap->segments);
    heap->segments = NULL;
    table_release(heap->mappings.at);
    heap->mappings.at = NULL;
    residence_release(heap);
}

uint64_t heap_unit(const struct heap *heap)
{
    const struct setting *setting = &heap->setting;
    uint64_t unit = setting->alignment > 1
                        ? setting->alignment
                        : setting->scale | (setting->header + setting->footer);
    if (setting->memalign && setting->alignment == 1 && setting->min_remainder > 1)
        unit = 1; /* an aligned request adds min_remainder - 1 bytes */
    return setting->minimum > 1 ? unit | setting->minimum : unit;
}

/* Returns all pages that begin in these bytes to the system. */
static void discard_begun(struct heap *heap, uint64_t address, uint64_t size)
{
    uint64_t page = heap->setting.page;
    if (heap->residence != NULL)
        residence_forget(heap, (address + page - 1) / page, (address + size + page - 1) / page);
}

void heap_join_all(struct heap *heap, uint32_t lowest, uint64_t size)
{
    struct block *blocks = heap->blocks;
    uint32_t highest = lowest;
    uint64_t joined = blocks[lowest].size;
    heap_mark(heap, lowest, STATE_WASTE);
    while (joined < size) {
        highest = blocks[highest].next;
        joined += blocks[highest].size;
        heap_mark(heap, highest, STATE_WASTE);
    }
    if (highest == lowest)
        return;
    uint32_t second = blocks[lowest].next;
    blocks[lowest].size = joined;
    blocks[lowest].next = blocks[highest].next;
    blocks[blocks[lowest].next].previous = lowest;
    blocks[highest].next = heap->unused; /* the ids between them are linked already */
    heap->unused = second;
}

bool heap_lower(struct heap *heap, uint64_t size)
{
    uint32_t id = heap_last(heap);
    struct block *last = &heap->blocks[id];
    heap->brk -= size;
    heap->counters.system_calls++;
    discard_begun(heap, heap->brk, size);
    heap->mapped -= size;
    heap->heap_changed = true;
    last->size -= size;
    if (last->size > 0)
        return true;
    heap_mark(heap, id, STATE_WASTE);
    heap->blocks[last->previous].next = NO_BLOCK;
    heap->blocks[NO_BLOCK].previous = last->previous;
    heap_drop_id(heap, id);
    return false;
}

const char heap_exhausted[] = "memory for the allocator's own tables was refused";

uint32_t heap_refuse(struct heap *heap)
{
    if (!heap->may_refuse) /* without may_refuse, the replay does not check for refusals */
        heap_fail(heap, "a policy without a limit has refused a request");
    heap->has_refused = true;
    return NO_BLOCK;
}

void heap_fail_beyond(struct heap *heap)
{
    if (heap->limit == UINT64_MAX)
        heap_fail(heap, "the heap would exceed 2**62 bytes");
}

uint64_t common_divisor(uint64_t one, uint64_t other)
{
    while (other != 0) {
        uint64_t rest = one % other;
        one = other;
        other = rest;
    }
    return one;
}

/* Computes the lowest address of a new segment that is a multiple of both the alignment and the
 * page. Returns false if that address exceeds `most`. */
static bool segment_start(const struct heap *heap, uint64_t alignment, uint64_t most,
                          uint64_t *address)
{
    uint64_t page = heap->setting.page, unit;
    *address = heap->segment_address;
    /* A common multiple beyond 64 bits leaves only address 0. */
    if (__builtin_mul_overflow(alignment, page / common_divisor(alignment, page), &unit))
        return *address == 0;
    uint64_t rest = *address % unit;
    if (rest > 0 && unit - rest > most - *address)
        return false;
    *address += rest > 0 ? unit - rest : 0;
    return true;
}

uint32_t heap_reserve_segment(struct heap *heap, uint64_t size, uint64_t alignment)
{
    if (alignment < heap->segment_alignment)
        alignment = heap->segment_alignment;
    uint64_t address;
    if (size > 2 * MAX_BREAK - heap->segment_address ||
        !segment_start(heap, alignment, 2 * MAX_BREAK - size, &address)) {
        heap_fail_beyond(heap);
        return NO_BLOCK;
    }
    if (!heap_needs(heap, TABLE_SPARE(heap->segments, heap->segment_count, 1, UINT32_MAX,
                                     heap->segment_capacity)))
        return NO_BLOCK;
    heap->segment_address = address + size;
    uint32_t edge = heap_new_id(heap);
    uint32_t id = heap_new_id(heap);
    heap->blocks[edge] = (struct block){
        .address = address,
        .previous = id,
        .next = id,
        .index_slot = STATE_HOLE,
        .family_data = heap->segment_count,
    };
    heap->blocks[id] = (struct block){
        .address = address,
        .size = size,
        .previous = edge,
        .next = edge,
        .index_slot = STATE_HOLE,
    };
    heap->segments[heap->segment_count++] = edge;
    return id;
}

/* Counts the bytes of a block as mapped, or as no longer mapped. */
static void count_mapped(struct heap *heap, const struct block *block, bool is_mapped)
{
    struct mappings *mappings = &heap->mappings;
    heap->mapped += is_mapped ? block->size : -block->size;
    heap->heap_changed = true;
    if (LIKELY(!mappings->are_kept))
        return;
    if (!heap_needs(heap, TABLE_SPARE(mappings->at, mappings->count, 1, UINT32_MAX,
                                     mappings->capacity)))
        return;
    mappings->at[mappings->count++] = (struct map_call){
        (int64_t)heap->request.event, (int64_t)block->address,
        is_mapped ? (int64_t)block->size : -(int64_t)block->size};
}

uint32_t heap_map_segment(struct heap *heap, uint64_t size, uint64_t alignment)
{
    if (!heap_has_room(heap, size))
        return heap_refuse(heap);
    uint32_t id = heap_reserve_segment(heap, size, alignment);
    if (id != NO_BLOCK)
        heap_map(heap, id);
    return id;
}

uint32_t heap_map_in_place_of(struct heap *heap, uint64_t size, uint64_t replaced)
{
    const uint64_t limit = heap->limit;
    heap->limit = limit == UINT64_MAX ? limit : limit + replaced;
    uint32_t id = heap_map_segment(heap, size, 1);
    heap->limit = limit;
    return id;
}

void heap_unmap_segment(struct heap *heap, uint32_t id)
{
    uint32_t edge = heap->blocks[id].next;
    uint32_t number = heap->blocks[edge].family_data;
    heap->counters.system_calls++;
    if (heap->blocks[id].index_slot != STATE_HOLE)
        count_mapped(heap, &heap->blocks[id], false);
    discard_begun(heap, heap->blocks[id].address, heap->blocks[id].size);
    heap_mark(heap, id, STATE_WASTE);
    heap->segments[number] = heap->segments[--heap->segment_count];
    heap->blocks[heap->segments[number]].family_data = number;
    heap_drop_id(heap, id);
    heap_drop_id(heap, edge);
    heap->heap_changed = true;
}

void heap_unmap(struct heap *heap, uint32_t id)
{
    heap_mark(heap, id, STATE_HOLE);
    count_mapped(heap, &heap->blocks[id], false);
    heap->counters.system_calls++;
    uint64_t page = heap->setting.page;
    uint64_t first = (heap->blocks[id].address + page - 1) / page;
    uint64_t end = (heap->blocks[id].address + heap->blocks[id].size) / page;
    if (heap->residence != NULL && first < end)
        residence_forget(heap, first, end);
}

bool heap_map(struct heap *heap, uint32_t id)
{
    if (!heap_has_room(heap, heap->blocks[id].size)) {
        heap_refuse(heap);
        return false;
    }
    heap_mark(heap, id, STATE_WASTE);
    heap->counters.system_calls++;
    count_mapped(heap, &heap->blocks[id], true);
    return true;
}

/* Totals of a walk over the blocks of all segments. */
struct found {
    uint64_t allocated;
    uint64_t mapped;
    uint64_t cached_blocks;
};

static const char *check_segment(const struct heap *heap, uint32_t edge, struct found *found)
{
    uint64_t address = heap->blocks[edge].address;
    uint32_t previous = edge;
    for (uint32_t id = heap->blocks[edge].next; id != edge; id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        if (block->address != address || block->size == 0)
            return "the blocks do not tile the heap";
        if (block->previous != previous)
            return "a block has the wrong lower neighbour";
        if (block->index_slot == STATE_ALLOCATED)
            found->allocated += block->size;
        if (block->index_slot != STATE_HOLE)
            found->mapped += block->size;
        found->cached_blocks += block->index_slot == STATE_CACHED;
        address += block->size;
        previous = id;
    }
    if (heap->blocks[edge].previous != previous)
        return "a segment has the wrong last block";
    if (edge == NO_BLOCK && address != heap->brk)
        return "the last block does not end at the break";
    return NULL;
}

const char *heap_check(const struct heap *heap)
{
    struct found found = {0, 0, 0};
    const char *wrong = check_segment(heap, NO_BLOCK, &found);
    for (uint32_t i = 0; i < heap->segment_count && wrong == NULL; i++) {
        if (heap->blocks[heap->segments[i]].family_data != i)
            return "a segment has the wrong number";
        wrong = check_segment(heap, heap->segments[i], &found);
    }
    if (wrong != NULL)
        return wrong;
    if (found.allocated != heap->counters.allocated)
        return "the allocated bytes are miscounted";
    if (found.mapped != heap->mapped + heap->untouched)
        return "the mapped bytes are miscounted";
    if (found.cached_blocks != heap->counters.cached_blocks)
        return "the cached blocks are miscounted";
    return NULL;
}

static uint64_t largest_in_segment(const struct heap *heap, uint32_t edge)
{
    uint64_t largest = 0;
    for (uint32_t id = heap->blocks[edge].next; id != edge; id = heap->blocks[id].next) {
        const struct block *block = &heap->blocks[id];
        if (is_free(block) && block->size > largest)
            largest = block->size;
    }
    return largest;
}

uint64_t heap_largest_free(const struct heap *heap)
{
    uint64_t largest = largest_in_segment(heap, NO_BLOCK);
    for (uint32_t i = 0; i < heap->segment_count; i++) {
        uint64_t found = largest_in_segment(heap, heap->segments[i]);
        largest = found > largest ? found : largest;
    }
    return heap_with_room(heap, largest, !heap->new_memory_is_apart);
}

uint64_t heap_with_room(const struct heap *heap, uint64_t largest, bool merges)
{
    if (heap->limit == UINT64_MAX)
        return largest;
    const struct block *last = &heap->blocks[heap_last(heap)];
    uint64_t room = heap->limit - heap->mapped + (merges && is_free(last) ? last->size : 0);
    return room > largest ? room : largest;
}
