/* The figures that glibc's malloc reports. */
#include "families/ptmalloc/ptmalloc.h"

void ptmalloc_locate(const struct heap *heap, uint32_t id, struct location *location)
{
    const struct ptmalloc *state = (const struct ptmalloc *)heap;
    *location = (struct location){-1, 0, 0};
    if (is_mapped(state, id))
        return;
    const struct arena *arena = arena_of(state, id);
    uint64_t address = heap->blocks[id].address;
    uint32_t number = 0;
    while (number < arena->heap_count && address - arena->heaps[number].base >= HEAP_SIZE)
        number++;
    uint64_t base = arena->heap_count == 0 ? 0 : arena->heaps[number].base;
    *location = (struct location){arena->number, number,
                                  (int64_t)(address + 2 * state->word - base)};
}

/* Returns the resident bytes of an arena's memory. */
static uint64_t resident_of(const struct ptmalloc *state, const struct arena *arena)
{
    const struct heap *heap = &state->heap;
    uint64_t bytes = arena->number == 0 ? heap_resident_in(heap, 0, heap->brk) : 0;
    for (uint32_t i = 0; i < arena->heap_count; i++)
        bytes += heap_resident_in(heap, arena->heaps[i].base, arena->heaps[i].size);
    return bytes;
}

/* Returns the bytes of the mapped blocks that the program holds, and stores their resident
 * bytes. */
static uint64_t mapped_in_use(const struct ptmalloc *state, uint64_t *resident)
{
    const struct heap *heap = &state->heap;
    uint64_t bytes = 0;
    *resident = 0;
    for (uint32_t i = 0; i < heap->segment_count; i++) {
        uint32_t last = heap->blocks[heap->segments[i]].previous;
        const struct block *block = &heap->blocks[last];
        if (block->index_slot == STATE_ALLOCATED && is_mapped(state, last)) {
            uint64_t size = mapped_bytes(state, last);
            bytes += size;
            *resident += heap_resident_in(heap, block->address + block->size - size, size);
        }
    }
    return bytes;
}

void ptmalloc_report(const struct heap *heap, uint64_t *figures)
{
    const struct ptmalloc *state = (const struct ptmalloc *)heap;
    uint64_t most = heap->reported_arenas;
    uint64_t *lists = figures + 4;
    figures[0] = state->arena_count;
    figures[1] = mapped_in_use(state, &figures[2]);
    uint64_t total = figures[2];
    for (uint64_t i = 0; i < most; i++) {
        bool known = i < state->arena_count;
        uint64_t resident = known ? resident_of(state, state->arenas[i]) : 0;
        lists[i] = known ? state->arenas[i]->system : 0;
        lists[most + i] = known ? state->arenas[i]->attached : 0;
        lists[2 * most + i] = resident;
        total += resident;
    }
    figures[3] = total;
}

uint64_t ptmalloc_cached(const void *memory)
{
    const struct ptmalloc *state = memory;
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < state->arena_count; i++)
        blocks += state->arenas[i]->fast.blocks;
    for (uint32_t i = 0; i < state->thread_entries; i++) {
        const struct cache *cache = state->thread_table[i].cache;
        for (uint64_t size = 0; cache != NULL && size <= state->small_cached; size++)
            blocks += cache->small[size].count;
        for (unsigned list = 0; cache != NULL && list < LARGE_LISTS; list++)
            blocks += cache->large[list].count;
    }
    return blocks;
}

const char *ptmalloc_check(const void *memory)
{
    const struct ptmalloc *state = memory;
    const struct heap *heap = &state->heap;
    uint64_t blocks = 0;
    const char *wrong = heap_check(heap);
    for (uint32_t i = 0; i < state->arena_count && wrong == NULL; i++) {
        const struct arena *arena = state->arenas[i];
        const struct block *top = &heap->blocks[arena->top];
        blocks += arena->bins.block_count + arena->unsorted.count + (arena->top != NO_BLOCK);
        if (arena->top != NO_BLOCK && top->address + top->size != arena_end(state, arena))
            wrong = "a top chunk does not end at the end of its arena";
        else
            wrong = groups_check(&arena->bins);
    }
    if (wrong == NULL && blocks != heap->counters.free_blocks)
        wrong = "the free blocks are miscounted";
    return wrong;
}
