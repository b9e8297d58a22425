#include "space/residence.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

static uint64_t all_resident[1]; /* its address stands for a group of which every page is */
#define ALL_RESIDENT all_resident

bool residence_init(struct heap *heap, uint64_t page)
{
    struct residence *residence = calloc(1, sizeof *residence);
    if (residence == NULL)
        return false;
    residence->page = page;
    residence->capacity = FIRST_CAPACITY;
    residence->groups = calloc(FIRST_CAPACITY, sizeof *residence->groups);
    heap->residence = residence;
    return residence->groups != NULL;
}

static void release_bits(struct page_group *group)
{
    if (group->bits != ALL_RESIDENT)
        free(group->bits);
    group->bits = NULL;
}

void residence_release(struct heap *heap)
{
    struct residence *residence = heap->residence;
    if (residence == NULL)
        return;
    if (residence->groups != NULL)
        for (uint64_t i = 0; i < residence->capacity; i++)
            release_bits(&residence->groups[i]);
    free(residence->groups);
    free(residence);
    heap->residence = NULL;
}

uint64_t heap_resident(const struct heap *heap)
{
    return heap->residence == NULL ? 0 : heap->residence->pages * heap->residence->page;
}

/* The entry that a key has, or would have. */
static uint64_t place_of(const struct residence *residence, uint64_t key)
{
    uint64_t mask = residence->capacity - 1;
    uint64_t place = (key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;
    while (residence->groups[place].key != 0 && residence->groups[place].key != key)
        place = (place + 1) & mask;
    return place;
}

/* Makes the table larger, and drops groups without a resident page. */
static bool grow(struct residence *residence)
{
    uint64_t old_capacity = residence->capacity;
    struct page_group *old = residence->groups;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < old_capacity; i++)
        kept += old[i].bits != NULL;
    uint64_t capacity = FIRST_CAPACITY;
    while (capacity < 4 * (kept + 1))
        capacity *= 2;
    struct page_group *groups = calloc(capacity, sizeof *groups);
    if (groups == NULL)
        return false;
    residence->groups = groups;
    residence->capacity = capacity;
    residence->used = kept;
    residence->latest = 0;
    for (uint64_t i = 0; i < old_capacity; i++)
        if (old[i].bits != NULL)
            groups[place_of(residence, old[i].key)] = old[i];
    free(old);
    return true;
}

/* The group of a number; NULL when memory is exhausted. */
static struct page_group *group_of(struct residence *residence, uint64_t number)
{
    uint64_t key = number + 1;
    struct page_group *latest = &residence->groups[residence->latest];
    if (latest->key == key)
        return latest;
    if (2 * (residence->used + 1) > residence->capacity && !grow(residence))
        return NULL;
    uint64_t place = place_of(residence, key);
    if (residence->groups[place].key == 0) {
        residence->groups[place].key = key;
        residence->used++;
    }
    residence->latest = place;
    return &residence->groups[place];
}

/* Gives a group bits of its own, in place of one word for all of them. */
static bool spell_out(struct page_group *group)
{
    uint64_t *bits = malloc(WORDS_OF_GROUP * sizeof *bits);
    if (bits == NULL)
        return false;
    memset(bits, group->bits == ALL_RESIDENT ? 0xFF : 0, WORDS_OF_GROUP * sizeof *bits);
    group->bits = bits;
    return true;
}

static uint64_t pages_in(const struct page_group *group)
{
    if (group->bits == NULL || group->bits == ALL_RESIDENT)
        return group->bits == NULL ? 0 : PAGES_OF_GROUP;
    uint64_t count = 0;
    for (unsigned word = 0; word < WORDS_OF_GROUP; word++)
        count += (uint64_t)__builtin_popcountll(group->bits[word]);
    return count;
}

/* Changes the pages from `first` to before `end` of one word, and counts. */
static void set_in_word(struct residence *residence, uint64_t *word, unsigned first, unsigned end,
                        bool resident)
{
    uint64_t mask = (end == 64 ? UINT64_MAX : (UINT64_C(1) << end) - 1) & UINT64_MAX << first;
    uint64_t changed = mask & (resident ? ~*word : *word);
    uint64_t count = (uint64_t)__builtin_popcountll(changed);
    *word ^= changed;
    residence->pages = resident ? residence->pages + count : residence->pages - count;
}

/* Changes the pages from `first` to before `end` of one group. */
static bool set_in_group(struct residence *residence, struct page_group *group, unsigned first,
                         unsigned end, bool resident)
{
    if (group->bits == (resident ? ALL_RESIDENT : NULL))
        return true;
    if (end - first == PAGES_OF_GROUP) {
        residence->pages -= pages_in(group);
        residence->pages += resident ? PAGES_OF_GROUP : 0;
        release_bits(group);
        group->bits = resident ? ALL_RESIDENT : NULL;
        return true;
    }
    if ((group->bits == NULL || group->bits == ALL_RESIDENT) && !spell_out(group))
        return false;
    for (unsigned page = first; page < end;) {
        unsigned stop = page / 64 * 64 + 64 < end ? page / 64 * 64 + 64 : end;
        set_in_word(residence, &group->bits[page / 64], page % 64, (stop - 1) % 64 + 1, resident);
        page = stop;
    }
    return true;
}

void residence_set(struct heap *heap, uint64_t first, uint64_t end, bool resident)
{
    struct residence *residence = heap->residence;
    while (first < end) {
        uint64_t number = first / PAGES_OF_GROUP;
        uint64_t start = number * PAGES_OF_GROUP;
        uint64_t stop = end < start + PAGES_OF_GROUP ? end : start + PAGES_OF_GROUP;
        struct page_group *group = group_of(residence, number);
        if (group == NULL || !set_in_group(residence, group, (unsigned)(first - start),
                                           (unsigned)(stop - start), resident)) {
            heap_fail(heap, OUT_OF_MEMORY);
            return;
        }
        first = stop;
    }
}
