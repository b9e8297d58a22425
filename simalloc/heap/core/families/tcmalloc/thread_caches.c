/* tcmalloc's thread caches and their shared size limit. */
#include <stdlib.h>

#include "families/tcmalloc/tcmalloc.h"

enum {
    LONGEST = 8192, /* maximum length of a list */
    MAX_OVERAGES = 3,
    STEP = 64 * 1024, /* step by which a cache's limit rises */
    MIN_LIMIT = 512 * 1024,
    MAX_TOTAL = 1 << 30,
    MAX_ASKED = 10, /* maximum number of caches tried for a part of their limit */
};

/* Returns the total limit in bytes of all caches. */
static int64_t total_space(const struct tcmalloc *state)
{
    uint64_t total = state->max_total_thread_cache_bytes;
    total = total < MIN_LIMIT ? MIN_LIMIT : total;
    return (int64_t)(total > MAX_TOTAL ? MAX_TOTAL : total);
}

void tcmalloc_caches_init(struct tcmalloc *state)
{
    state->caches.unclaimed_cache_space = total_space(state);
}

const char *tcmalloc_caches_check(const struct tcmalloc *state)
{
    int64_t space = state->caches.unclaimed_cache_space;
    for (const struct thread_cache *cache = state->caches.newest; cache; cache = cache->older) {
        uint64_t bytes = 0;
        for (uint32_t class = 0; class < state->table.count; class++) {
            const struct cache_list *list = &cache->lists[class];
            bytes += list->count * (uint64_t)state->table.classes[class].size;
            if (list->lowater > list->count)
                return "the low-water mark of a list exceeds its length";
        }
        if (bytes != cache->size)
            return "the bytes in a thread cache are miscounted";
        space += (int64_t)cache->max_size;
    }
    return space == total_space(state) ? NULL : "the capacities of the thread caches do not add up "
                                                "to their limit";
}

void tcmalloc_caches_release(struct tcmalloc *state)
{
    while (state->caches.newest != NULL) {
        struct thread_cache *cache = state->caches.newest;
        state->caches.newest = cache->older;
        free(cache);
    }
    thread_table_release(&state->caches.of_threads);
}

/* Raises the limit of a cache, by unclaimed bytes or by lowering the limit of another cache. */
static void raise_limit(struct caches *caches, struct thread_cache *cache)
{
    if (caches->unclaimed_cache_space > 0) {
        caches->unclaimed_cache_space -= STEP;
        cache->max_size += STEP;
        return;
    }
    for (unsigned i = 0; i < MAX_ASKED; i++) {
        struct thread_cache *victim = caches->victim == NULL ? caches->newest : caches->victim;
        caches->victim = victim->older;
        if (victim != cache && victim->max_size > MIN_LIMIT) {
            victim->max_size -= STEP;
            cache->max_size += STEP;
            return;
        }
    }
}

struct thread_cache *tcmalloc_add_cache(struct tcmalloc *state)
{
    struct caches *caches = &state->caches;
    struct thread_cache *cache = calloc(1, sizeof *cache);
    if (!heap_needs(&state->heap, cache != NULL))
        return NULL;
    tcmalloc_take_record(state, &state->metadata.caches, CACHE_RECORD);
    for (uint32_t class = 0; class < state->table.count; class++)
        cache->lists[class].max_length = 1;
    raise_limit(caches, cache);
    if (cache->max_size == 0) {
        cache->max_size = MIN_LIMIT;
        caches->unclaimed_cache_space -= MIN_LIMIT;
    }
    if (caches->newest == NULL)
        caches->victim = cache;
    cache->older = caches->newest;
    caches->newest = cache;
    return cache;
}

struct thread_cache *tcmalloc_make_cache(struct tcmalloc *state, uint32_t thread)
{
    struct thread_table *table = &state->caches.of_threads;
    if (!heap_needs(&state->heap, thread_table_add(table, thread)))
        return NULL;
    struct thread_cache *cache = tcmalloc_add_cache(state);
    thread_table_keep(table, thread, cache);
    return cache;
}

/* Releases the newest blocks of a list in batches of up to `move` blocks. */
static void give_back(struct tcmalloc *state, struct thread_cache *cache, uint32_t class,
                      uint32_t count)
{
    struct cache_list *list = &cache->lists[class];
    const struct size_class *kind = &state->table.classes[class];
    while (count > 0) {
        struct run run = {.first = list->newest, .count = count < kind->move ? count : kind->move};
        for (uint32_t i = 0; i < run.count; i++)
            list->newest = state->links.of[list->newest].older;
        count -= run.count;
        list->count -= run.count;
        if (list->count < list->lowater)
            list->lowater = list->count;
        cache->size -= run.count * (uint64_t)kind->size;
        tcmalloc_insert(state, class, run);
    }
}

void tcmalloc_end_thread(struct tcmalloc *state, uint32_t thread)
{
    struct caches *caches = &state->caches;
    struct thread_cache *cache = thread_table_find(&caches->of_threads, thread);
    if (cache == NULL)
        return;
    for (uint32_t class = 1; class < state->table.count; class++)
        give_back(state, cache, class, cache->lists[class].count);
    if (caches->victim == cache)
        caches->victim = cache->older;
    struct thread_cache **place = &caches->newest;
    while (*place != cache)
        place = &(*place)->older;
    *place = cache->older;
    if (caches->victim == NULL)
        caches->victim = caches->newest;
    caches->unclaimed_cache_space += (int64_t)cache->max_size;
    thread_table_keep(&caches->of_threads, thread, NULL);
    tcmalloc_give_record(state, &state->metadata.caches);
    free(cache);
}

uint32_t tcmalloc_refill(struct tcmalloc *state, struct thread_cache *cache, uint32_t class)
{
    struct cache_list *list = &cache->lists[class];
    const struct size_class *kind = &state->table.classes[class];
    uint32_t move = kind->move;
    struct run run =
        tcmalloc_fetch(state, class, list->max_length < move ? list->max_length : move);
    if (run.count == 0)
        return NO_BLOCK;
    list->newest = state->links.of[run.first].older;
    list->count = run.count - 1;
    cache->size += list->count * (uint64_t)kind->size;
    if (list->max_length < move)
        list->max_length++;
    else
        list->max_length =
            (list->max_length + move < LONGEST ? list->max_length + move : LONGEST) / move * move;
    return run.first;
}

/* Releases blocks of a list that is too long, and raises or lowers its maximum length. */
static void shorten(struct tcmalloc *state, struct thread_cache *cache, uint32_t class)
{
    struct cache_list *list = &cache->lists[class];
    uint32_t move = state->table.classes[class].move;
    give_back(state, cache, class, list->count < move ? list->count : move);
    if (list->max_length < move) {
        list->max_length++;
    } else if (list->max_length > move && ++list->length_overages > MAX_OVERAGES) {
        list->max_length -= move;
        list->length_overages = 0;
    }
}

/* Releases half of the blocks of each list that were not needed since the last scavenge. Then
 * raises the cache's limit. */
static void scavenge(struct tcmalloc *state, struct thread_cache *cache)
{
    for (uint32_t class = 1; class < state->table.count; class++) {
        struct cache_list *list = &cache->lists[class];
        uint32_t move = state->table.classes[class].move;
        if (list->lowater > 0) {
            give_back(state, cache, class, list->lowater > 1 ? list->lowater / 2 : 1);
            if (list->max_length > move)
                list->max_length = list->max_length - move > move ? list->max_length - move : move;
        }
        list->lowater = list->count;
    }
    raise_limit(&state->caches, cache);
}

void tcmalloc_shrink(struct tcmalloc *state, struct thread_cache *cache, uint32_t class)
{
    const struct cache_list *list = &cache->lists[class];
    if (list->count > list->max_length)
        shorten(state, cache, class);
    if (cache->size > cache->max_size)
        scavenge(state, cache);
}
