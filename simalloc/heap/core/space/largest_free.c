#include "space/largest_free.h"

#include <stdlib.h>

#include "space/table.h"

bool largest_free_init(struct heap *heap)
{
    heap->largest_free = calloc(1, sizeof *heap->largest_free);
    return heap->largest_free != NULL;
}

void largest_free_release(struct heap *heap)
{
    if (heap->largest_free == NULL)
        return;
    table_release(heap->largest_free->entries);
    table_release(heap->largest_free->noted);
    free(heap->largest_free);
    heap->largest_free = NULL;
}

void largest_free_note(struct heap *heap, uint32_t id)
{
    struct largest_free *index = heap->largest_free;
    if (index->noted_count > 0 && index->noted[index->noted_count - 1] == id)
        return;
    if (heap_needs(heap, TABLE_SPARE(index->noted, index->noted_count, 1, UINT32_MAX,
                                     index->noted_capacity)))
        index->noted[index->noted_count++] = id;
}

/* Moves an entry up from an empty place until its parent is not smaller. */
static void rise(struct largest_free *index, uint32_t place, struct free_entry entry)
{
    while (place > 0 && index->entries[(place - 1) / 2].size < entry.size) {
        index->entries[place] = index->entries[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    index->entries[place] = entry;
}

/* Replaces the top with an entry and moves the entry down to its place. */
static void replace_top(struct largest_free *index, struct free_entry entry)
{
    uint64_t place = 0;
    for (uint64_t child = 1; child < index->count; child = 2 * place + 1) {
        if (child + 1 < index->count &&
            index->entries[child].size < index->entries[child + 1].size)
            child++;
        if (index->entries[child].size <= entry.size)
            break;
        index->entries[place] = index->entries[child];
        place = child;
    }
    index->entries[place] = entry;
}

static void enter(struct heap *heap, uint32_t id)
{
    struct largest_free *index = heap->largest_free;
    const struct block *block = &heap->blocks[id];
    if (is_free(block) && heap_needs(heap, TABLE_SPARE(index->entries, index->count, 1, UINT32_MAX,
                                                       index->capacity)))
        rise(index, index->count++, (struct free_entry){block->size, id});
}

/* Rebuilds the index if at least half of its entries must be outdated. */
static void drop_outdated(struct heap *heap)
{
    struct largest_free *index = heap->largest_free;
    if (index->count < 2 * (uint64_t)heap->used)
        return;
    index->count = 0;
    for (uint32_t id = 1; id < heap->used; id++)
        enter(heap, id);
}

uint64_t largest_free_size(struct heap *heap)
{
    struct largest_free *index = heap->largest_free;
    for (uint32_t i = 0; i < index->noted_count; i++)
        enter(heap, index->noted[i]);
    index->noted_count = 0;
    drop_outdated(heap);
    while (index->count > 0) {
        struct free_entry top = index->entries[0];
        const struct block *block = &heap->blocks[top.block];
        if (is_free(block) && block->size == top.size)
            return top.size;
        bool has_shrunk = is_free(block) && block->size < top.size;
        top.size = block->size;
        replace_top(index, has_shrunk ? top : index->entries[--index->count]);
    }
    return 0;
}
