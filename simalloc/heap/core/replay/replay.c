#include "replay/replay.h"

#include "layers/free_cache.h"
#include "layers/free_counting.h"
#include "layers/pymalloc/pymalloc.h"
#include "layers/trimming.h"
#include "replay/requests.h"
#include "space/largest_free.h"
#include "space/residence.h"

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

uint32_t replay_seldom(const struct replay *replay, uint8_t op, uint32_t block, uint64_t size,
                       const struct layer *layer)
{
    struct heap *heap = replay->heap;
    const struct family *family = replay->family;
    if (op == OP_CALLOC && block == NO_BLOCK) {
        heap->request.is_zeroed = true;
        block = layer->allocate(heap, size);
        heap->request.is_zeroed = false;
    } else if (op == OP_EMPTY && family->give_back != NULL) {
        family->give_back(heap);
    } else if (op == OP_THREAD_END && family->end_thread != NULL) {
        family->end_thread(heap);
    } else if (op == OP_CALLOC || op > OP_THREAD_END) {
        heap_fail(heap, INVALID_EVENTS);
    }
    return block;
}

/* Writes the results of an event, and of the heap after it. */
static void note(const struct replay *replay, const struct events *event, uint32_t block)
{
    const struct heap *heap = replay->heap;
    const struct family *family = replay->family;
    const struct sight *sight = event->sight;
    size_t row = event->first;
    struct location location = {0, 0, replay->refusals.is_latest ? ADDRESS_REFUSED : ADDRESS_NONE};
    if (block != NO_BLOCK && heap->pymalloc != NULL)
        pymalloc_locate(heap, block, &location);
    else if (block != NO_BLOCK && family->locate != NULL)
        family->locate(heap, block, &location);
    else if (block != NO_BLOCK)
        location.offset = (int64_t)heap->blocks[block].address;
    sight->mapped[row] = (int64_t)heap->mapped;
    sight->resident[row] = (int64_t)heap_resident(heap);
    sight->live[row] = heap->may_refuse ? replay->refusals.live : event->live[0];
    sight->largest_free[row] =
        replay->measures_largest_free ? (int64_t)replay_largest_free(replay) : 0;
    sight->free_blocks[row] =
        (int64_t)(heap->counters.free_blocks + heap->counters.cached_blocks);
    sight->region[row] = location.region;
    sight->number[row] = location.number;
    sight->offset[row] = location.offset;
    if (family->report != NULL && sight->figures != NULL)
        family->report(heap, &sight->figures[row * report_width(family, heap)]);
}

/* Verifies the heap after an event that has used `taken` new block ids. Returns a description of
 * the fault, or NULL. */
static const char *verify(const struct replay *replay, uint32_t taken)
{
    struct heap *heap = replay->heap;
    const struct family *family = replay->family;
    const char *wrong = family->check(heap);
    if (wrong == NULL)
        wrong = free_cache_check(heap, pymalloc_cached(heap) +
                                         (family->cached == NULL ? 0 : family->cached(heap)));
    if (wrong == NULL && heap->pymalloc != NULL)
        wrong = pymalloc_check(heap);
    if (wrong == NULL && heap->largest_free != NULL &&
        heap_with_room(heap, largest_free_size(heap), !heap->new_memory_is_apart) !=
            heap_largest_free(heap))
        wrong = "the index has the wrong size for the largest free block";
    /* An aligned allocation consists of one allocation and up to two frees. */
    uint32_t steps = heap->request.alignment > 0 ? 3 : 1;
    if (wrong == NULL && taken > steps * family->blocks_an_event + heap->reserved)
        wrong = "an event has created more blocks than its family declares";
    heap->reserved = 0;
    return wrong;
}

static bool is_watched(const struct replay *replay, const struct events *events)
{
    return events->address != NULL || events->sight != NULL || replay->checked;
}

/* Computes the results of one event that are only collected on request. */
static void watch(const struct replay *replay, const struct events *event, uint32_t taken)
{
    struct heap *heap = replay->heap;
    uint8_t op = event->op[0];
    bool is_refused = replay->refusals.is_latest;
    bool has_object = op != OP_EMPTY && op != OP_THREAD_END && !is_refused;
    uint32_t block = has_object ? replay->objects.blocks[event->slot[0]] : NO_BLOCK;
    int64_t nowhere = is_refused ? ADDRESS_REFUSED : ADDRESS_NONE;
    if (event->address != NULL)
        event->address[0] = block == NO_BLOCK ? nowhere : (int64_t)heap->blocks[block].address;
    if (event->sight != NULL)
        note(replay, event, block);
    if (replay->checked)
        heap->failure = verify(replay, taken);
}

/* Prefetches the memory that a batch of events will touch, all at once, because the heap no longer
 * fits in the nearest caches. */
static void prefetch_blocks(const struct replay *replay, const struct events *events)
{
    const uint32_t *objects = replay->objects.blocks;
    const struct block *blocks = replay->heap->blocks;
    uint32_t given[BATCH]; /* blocks of objects that are live before the batch */
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

/* Prefetches the columns of the batch that begins at event `first`. The hardware prefetcher is too
 * slow for fast families. */
static void prefetch_columns(const struct events *events, size_t first)
{
    if (first % BATCH != 0 || first >= events->count)
        return; /* a watched replay begins a batch at each event */
    struct events batch = events_from(events, first, BATCH);
    prefetch(batch.size, batch.count * sizeof *batch.size);
    prefetch(batch.slot, batch.count * sizeof *batch.slot);
    prefetch(batch.op, batch.count * sizeof *batch.op);
}

bool replay_begin(struct replay *replay, const struct events *events, size_t first,
                  reserve_function *reserve, struct events *part)
{
    struct heap *heap = replay->heap;
    *part = events_from(events, first, is_watched(replay, events) ? 1 : BATCH);
    if (!reserve(heap) || !objects_reserve(&replay->objects, part->slot, part->count)) {
        heap->failure = OUT_OF_MEMORY;
        return false;
    }
    prefetch_columns(events, first + BATCH);
    if (heap->used > NEAR_BLOCKS)
        prefetch_blocks(replay, part);
    return true;
}

size_t replay_end(struct replay *replay, const struct events *part, struct batch *batch,
                  uint32_t used)
{
    const struct heap *heap = replay->heap;
    if (is_watched(replay, part) && heap->failure == NULL && !replay->refusals.is_over)
        watch(replay, part, heap->used - used);
    if (part->count == 1 && heap->failure != NULL)
        batch->events = 0; /* the event may fail after the loop has counted it */
    replay->measure(&replay->measures, batch, part);
    return batch->events;
}

size_t replay_all(struct replay *replay, const struct events *events)
{
    struct heap *heap = replay->heap;
    size_t done = 0;
    heap->request = (struct request){0}; /* earlier events may have had other columns */
    heap->heap_changed &= (uint8_t)~PAGES_MAY_CHANGE;
    while (done < events->count && heap->failure == NULL && !refusals_end(&replay->refusals)) {
        const struct layer *layer = replay->family->next_layer(heap);
        if (layer == NULL) {
            heap->failure = OUT_OF_MEMORY;
            break;
        }
        const struct layer *family = layer;
        heap->family = layer = free_counting_over(heap, layer);
        if (heap->free_cache != NULL)
            layer = free_cache_over(heap, layer);
        if (heap->trimming != NULL)
            layer = trimming_over(heap, layer, family);
        if (heap->pymalloc != NULL)
            layer = pymalloc_over(heap, layer);
        heap->front = layer;
        prefetch_columns(events, done + BATCH);
        struct events batch = events_from(events, done, BATCH - done % BATCH);
        replay_function *full = heap->pymalloc == NULL ? replay->family->replay_requests : NULL;
        if (!requests_are_needed(replay, events))
            done += layer->replay(replay, &batch);
        else
            done += full != NULL ? full(replay, &batch) : replay_requests(replay, &batch);
    }
    return done;
}
