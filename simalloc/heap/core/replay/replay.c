#include "replay/replay.h"

#include "replay/aligning.h"
#include "replay/deferral.h"
#include "replay/free_counting.h"
#include "replay/trimming.h"

uint32_t reallocate(const struct replay *replay, uint32_t old, uint64_t size,
                    const struct layer *layer)
{
    struct heap *heap = replay->heap;
    if (replay->realloc_rule == REALLOC_FREE_FIRST) {
        layer->release(heap, old);
        return layer->allocate(heap, size);
    }
    if (replay->realloc_rule == REALLOC_IN_PLACE)
        return layer_reallocate(heap, layer, old, size);
    uint32_t block = layer->allocate(heap, size);
    if (block != NO_BLOCK)
        layer->release(heap, old);
    return block;
}

void replay_watch(const struct replay *replay, const struct events *event, uint32_t taken)
{
    struct heap *heap = replay->heap;
    uint32_t block = replay->objects.blocks[event->slot[0]];
    bool of_none = block == NO_BLOCK || event->op[0] > OP_USE; /* OP_EMPTY is of no object */
    if (event->address != NULL)
        event->address[0] = of_none ? -1 : (int64_t)heap->blocks[block].address;
    if (!replay->checked)
        return;
    heap->failure = replay->family->check(heap);
    if (heap->failure == NULL)
        heap->failure = deferral_check(
            heap, replay->family->cached == NULL ? 0 : replay->family->cached(heap));
    /* An aligned allocation is one, and two frees. */
    uint32_t steps = heap->asked > 0 ? 3 : 1;
    if (heap->failure == NULL && taken > steps * replay->family->blocks_an_event)
        heap->failure = "an event has made more blocks than its family says";
}

void replay_prefetch(const struct replay *replay, const struct events *events)
{
    const uint32_t *objects = replay->objects.blocks;
    const struct block *blocks = replay->heap->blocks;
    uint32_t given[BATCH]; /* the blocks of objects that are live already */
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++)
        __builtin_prefetch(&objects[events->slot[i]]);
    for (size_t i = 0; i < events->count; i++) {
        uint32_t block = objects[events->slot[i]];
        if (block == NO_BLOCK)
            continue;
        __builtin_prefetch(&blocks[block]);
        given[count++] = block;
    }
    for (size_t i = 0; i < count; i++) {
        const struct block *block = &blocks[given[i]];
        __builtin_prefetch(&blocks[block->previous]);
        __builtin_prefetch(&blocks[block->next]);
    }
}

static void prefetch(const void *memory, size_t bytes)
{
    enum { LINE = 64 };
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch((const char *)memory + at);
}

void replay_prefetch_columns(const struct events *events, size_t first)
{
    if (first % BATCH != 0 || first >= events->count)
        return; /* replays that are watched go event by event */
    struct events batch = events_from(events, first, BATCH);
    prefetch(batch.size, batch.count * sizeof *batch.size);
    prefetch(batch.slot, batch.count * sizeof *batch.slot);
    prefetch(batch.op, batch.count * sizeof *batch.op);
}

size_t replay_all(struct replay *replay, const struct events *events)
{
    struct heap *heap = replay->heap;
    size_t done = 0;
    while (done < events->count && heap->failure == NULL) {
        const struct layer *layer = replay->family->settle(heap);
        if (layer == NULL) {
            heap->failure = OUT_OF_MEMORY;
            break;
        }
        const struct layer *family = layer;
        heap->family = layer = free_counting_over(heap, layer);
        if (heap->deferral != NULL)
            layer = deferral_over(heap, layer);
        if (heap->trimming != NULL)
            layer = trimming_over(heap, layer, family);
        heap->front = layer;
        replay_prefetch_columns(events, done + BATCH);
        struct events batch = events_from(events, done, BATCH - done % BATCH);
        bool aligns = heap->setting.memalign && events->alignment != NULL;
        done += aligns ? replay_aligning(replay, &batch) : layer->replay(replay, &batch);
    }
    return done;
}
