#include "layers/free_cache.h"

#include <stdlib.h>

#include "index/chain.h"
#include "layers/define_layer.h"
#include "layers/free_counting.h"
#include "layers/trimming.h"

/* Cached blocks of one size, in the order of their frees. */
struct exact_list {
    uint64_t size;
    uint32_t newest; /* newest block, or NO_BLOCK */
    uint32_t next;   /* number of the next list in the bucket + 1, or 0 */
};

enum { BUCKETS = 1 << 12 };

struct free_cache {
    const struct layer *base;
    const struct layer *(*next_layer)(struct heap *heap); /* next_layer() of the family */
    struct exact_list *lists;
    uint32_t list_count;
    uint32_t list_capacity;
    uint32_t buckets[BUCKETS]; /* number of the first list in each bucket + 1, or 0 */
    uint32_t *older; /* by block id: next older block of the same list */
    uint32_t older_capacity;
    struct chain waiting; /* blocks that will be coalesced, without quick blocks */
    struct links links;
};

bool free_cache_init(struct heap *heap, const struct layer *(*next_layer)(struct heap *heap))
{
    if (heap->setting.quick == 0 && heap->setting.cache == 0)
        return true;
    heap->free_cache = calloc(1, sizeof *heap->free_cache);
    if (heap->free_cache == NULL)
        return false;
    heap->free_cache->next_layer = next_layer;
    return true;
}

void free_cache_release(struct heap *heap)
{
    if (heap->free_cache == NULL)
        return;
    table_release(heap->free_cache->lists);
    table_release(heap->free_cache->older);
    links_release(&heap->free_cache->links);
    free(heap->free_cache);
}

static uint32_t *bucket_of(struct free_cache *cache, uint64_t size)
{
    return &cache->buckets[size * UINT64_C(0x9E3779B97F4A7C15) >> 52];
}

/* Returns the list for blocks of a size, or NULL. */
static struct exact_list *find_list(struct free_cache *cache, uint64_t size)
{
    uint32_t number = *bucket_of(cache, size);
    while (number != 0 && cache->lists[number - 1].size != size)
        number = cache->lists[number - 1].next;
    return number == 0 ? NULL : &cache->lists[number - 1];
}

/* Returns the list for blocks of a size, after creating it if necessary. */
static struct exact_list *list_of(struct free_cache *cache, uint64_t size)
{
    struct exact_list *list = find_list(cache, size);
    if (list != NULL)
        return list;
    uint32_t *bucket = bucket_of(cache, size);
    list = &cache->lists[cache->list_count++];
    *list = (struct exact_list){.size = size, .newest = NO_BLOCK, .next = *bucket};
    *bucket = cache->list_count;
    return list;
}

static bool is_quick(const struct heap *heap, uint64_t size)
{
    return size <= heap->setting.quick;
}

/* Removes the newest block from a list. */
static uint32_t take_newest(struct heap *heap, struct exact_list *list)
{
    struct free_cache *cache = heap->free_cache;
    uint32_t id = list->newest;
    list->newest = cache->older[id];
    if (!is_quick(heap, list->size))
        chain_remove(&cache->links, &cache->waiting, id);
    heap_mark(heap, id, STATE_ALLOCATED);
    return id;
}

/* Lets the family reserve memory and change its form, which is otherwise done before each batch.
 * Returns false, with the heap's failure set, if memory is exhausted. */
static bool next_layer(struct heap *heap)
{
    struct free_cache *cache = heap->free_cache;
    const struct layer *layer = cache->next_layer(heap);
    if (layer != NULL)
        cache->base = free_counting_over(heap, layer);
    if (layer == NULL || !cache->base->reserve(heap)) {
        heap_fail(heap, OUT_OF_MEMORY);
        return false;
    }
    if (heap->trimming != NULL)
        heap->trimming->family = layer;
    return true;
}

/* Frees all waiting blocks in the family, the oldest first. The family can reserve memory only
 * before a batch, so the blocks are freed in batches. */
static void coalesce_all(struct heap *heap)
{
    struct free_cache *cache = heap->free_cache;
    for (uint64_t i = 0; cache->waiting.count > 0; i++) {
        if (i % BATCH == 0 && !next_layer(heap))
            return;
        uint32_t id = chain_pop_oldest(&cache->links, &cache->waiting);
        struct exact_list *list = find_list(cache, heap->blocks[id].size);
        list->newest = NO_BLOCK; /* this loop frees all other blocks of this size too */
        heap_mark(heap, id, STATE_ALLOCATED);
        cache->base->release(heap, id);
    }
    next_layer(heap);
}

static uint32_t allocate(struct heap *heap, uint64_t size)
{
    struct free_cache *cache = heap->free_cache;
    uint64_t rounded =
        cache->base->rounded == NULL ? size : cache->base->rounded(heap, size);
    struct exact_list *list = find_list(cache, rounded);
    if (list == NULL || list->newest == NO_BLOCK)
        return cache->base->allocate(heap, size);
    count_search(heap, 1);
    return take_newest(heap, list);
}

static void release(struct heap *heap, uint32_t id)
{
    struct free_cache *cache = heap->free_cache;
    bool quick = is_quick(heap, heap->blocks[id].size);
    if (!quick && heap->setting.cache == 0) {
        cache->base->release(heap, id);
        return;
    }
    struct exact_list *list = list_of(cache, heap->blocks[id].size);
    cache->older[id] = list->newest;
    list->newest = id;
    heap_mark(heap, id, STATE_CACHED);
    if (!quick)
        chain_push(&cache->links, &cache->waiting, id);
    if (cache->waiting.count > heap->setting.cache)
        coalesce_all(heap);
}

static bool resize(struct heap *heap, uint32_t id, uint64_t size)
{
    return heap->free_cache->base->resize(heap, id, size);
}

static uint32_t reallocate_over(struct heap *heap, uint32_t id, uint64_t size)
{
    return layer_reallocate(heap, heap->free_cache->base, id, size);
}

/* Reserves memory for a batch, in which new sizes may need lists. Returns false if memory is
 * exhausted. */
static bool reserve(struct heap *heap)
{
    struct free_cache *cache = heap->free_cache;
    return cache->base->reserve(heap) &&
           TABLE_FOLLOW(cache->older, cache->older_capacity, heap->capacity) &&
           links_reserve(&cache->links, heap->capacity) &&
           TABLE_SPARE(cache->lists, cache->list_count, 2 * BATCH, UINT32_MAX,
                       cache->list_capacity);
}

DEFINE_LAYER(free_cache, true, allocate, release, reserve, .resize = resize,
             .reallocate = reallocate_over)

const struct layer *free_cache_over(struct heap *heap, const struct layer *base)
{
    heap->free_cache->base = base;
    return &layer_free_cache;
}

const char *free_cache_check(const struct heap *heap, uint64_t kept)
{
    const struct free_cache *cache = heap->free_cache;
    if (cache == NULL)
        return heap->counters.cached_blocks == kept ? NULL : "a block is cached although the "
                                                             "policy has no cache";
    uint64_t cached = kept;
    for (uint32_t i = 0; i < cache->list_count; i++)
        for (uint32_t id = cache->lists[i].newest; id != NO_BLOCK;
             id = cache->older[id]) {
            if (heap->blocks[id].index_slot != STATE_CACHED ||
                heap->blocks[id].size != cache->lists[i].size)
                return "an exact list holds a block that is not cached or has another size";
            if (++cached > heap->counters.cached_blocks)
                return "an exact list has a cycle, or the cached blocks are miscounted";
        }
    if (cached != heap->counters.cached_blocks)
        return "the exact lists do not hold exactly the cached blocks";
    return cache->waiting.count > heap->setting.cache ? "more blocks wait than the cache "
                                                        "allows" : NULL;
}
