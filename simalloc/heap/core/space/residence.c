#include "space/residence.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS_OF_GROUP = PAGES_OF_GROUP / 64,
    MANY_GROUPS = 64, /* minimum number of whole groups in a run; 1 GiB if a page has 4 KiB */
};

/* Marker of a group whose pages are all resident; only its address is used. */
static uint64_t all_resident[1];
#define ALL_RESIDENT all_resident

static const struct page_group group_in_run = {.of_pages = all_resident};

/* Returns the state of a group, or NULL if no page of the group has a record. Sets `next` to the
 * end of the known run of groups in the same state. */
static const struct page_group *find_group(const struct residence *residence, uint64_t number,
                                           uint64_t *next)
{
    const struct page_run *run =
        residence->runs.count > 0 ? page_runs_find(&residence->runs, number) : NULL;
    *next = run == NULL ? number + 1 : run->end;
    return run == NULL ? page_table_find(&residence->table, number) : &group_in_run;
}

/* Returns the number of the page that contains an address. */
static inline uint64_t page_of(const struct residence *residence, uint64_t address)
{
    return LIKELY(residence->shift > 0) ? address >> residence->shift : address / residence->page;
}

/* Returns the index of a page in `known`. The page number is hashed, because arenas begin at
 * multiples of large powers of two: by their low bits, pages of different arenas would collide. */
static inline uint64_t place_of(uint64_t page)
{
    return page * UINT64_C(0x9E3779B97F4A7C15) >> (64 - KNOWN_BITS);
}

static inline bool knows(const struct residence *residence, uint64_t page)
{
    return residence->known[place_of(page)] == page + 1;
}

/* Creates an empty record of pages. If its table cannot be created, the record remains without a
 * table. */
static bool make(struct residence **record, uint64_t page)
{
    *record = calloc(1, sizeof **record);
    if (*record == NULL)
        return false;
    (*record)->page = page;
    (*record)->shift = (page & (page - 1)) == 0 ? (unsigned)__builtin_ctzll(page) : 0;
    return page_table_init(&(*record)->table);
}

bool residence_init(struct heap *heap, uint64_t page)
{
    return make(&heap->residence, page);
}

bool residence_keep_touched(struct heap *heap)
{
    return make(&heap->touched, heap->residence->page);
}

static void release_bits(struct page_group *group)
{
    if (group->of_pages != ALL_RESIDENT)
        free(group->of_pages);
    group->of_pages = NULL;
}

static void release(struct residence **record)
{
    struct residence *residence = *record;
    if (residence == NULL)
        return;
    for (uint64_t i = 0; i < residence->table.capacity; i++)
        release_bits(&residence->table.groups[i]);
    page_table_release(&residence->table);
    page_runs_release(&residence->runs);
    free(residence);
    *record = NULL;
}

void residence_release(struct heap *heap)
{
    release(&heap->residence);
    release(&heap->touched);
}

uint64_t heap_resident(const struct heap *heap)
{
    return heap->residence == NULL ? 0 : heap->residence->pages * heap->residence->page;
}

/* Replaces the marker of a full or empty group by a bitmap. */
static bool spell_out(struct page_group *group)
{
    uint64_t *bits = malloc(WORDS_OF_GROUP * sizeof *bits);
    if (bits == NULL)
        return false;
    memset(bits, group->of_pages == ALL_RESIDENT ? 0xFF : 0, WORDS_OF_GROUP * sizeof *bits);
    group->of_pages = bits;
    return true;
}

static uint64_t pages_in(const struct page_group *group)
{
    if (group->of_pages == NULL || group->of_pages == ALL_RESIDENT)
        return group->of_pages == NULL ? 0 : PAGES_OF_GROUP;
    const uint64_t *bits = group->of_pages;
    uint64_t count = 0;
    for (unsigned word = 0; word < WORDS_OF_GROUP; word++)
        count += (uint64_t)__builtin_popcountll(bits[word]);
    return count;
}

/* Returns a word whose bits in [first, end) are set. `end` is at most 64. */
static inline uint64_t bits_between(unsigned first, unsigned end)
{
    return (end == 64 ? UINT64_MAX : (UINT64_C(1) << end) - 1) & UINT64_MAX << first;
}

/* Returns the first page after the word of `page`, or `end` if `end` is smaller. */
static inline unsigned end_in_word(unsigned page, unsigned end)
{
    unsigned next = page / 64 * 64 + 64;
    return next < end ? next : end;
}

/* Changes the pages in [first, end) of one word and updates the counts. */
static void set_in_word(struct residence *residence, uint64_t *word, unsigned first, unsigned end,
                        bool resident)
{
    uint64_t mask = bits_between(first, end);
    uint64_t changed = mask & (resident ? ~*word : *word);
    uint64_t count = (uint64_t)__builtin_popcountll(changed);
    *word ^= changed;
    residence->pages = resident ? residence->pages + count : residence->pages - count;
    residence->faults += resident ? count : 0;
}

/* Changes the pages in [first, end) of one group. Returns false if memory is exhausted. */
static bool set_pages(struct residence *residence, struct page_group *group, unsigned first,
                         unsigned end, bool resident)
{
    if (group->of_pages == (resident ? ALL_RESIDENT : NULL))
        return true;
    if (end - first == PAGES_OF_GROUP) {
        uint64_t before = pages_in(group);
        residence->pages += (resident ? PAGES_OF_GROUP : 0) - before;
        residence->faults += resident ? PAGES_OF_GROUP - before : 0;
        release_bits(group);
        group->of_pages = resident ? ALL_RESIDENT : NULL;
        return true;
    }
    if ((group->of_pages == NULL || group->of_pages == ALL_RESIDENT) && !spell_out(group))
        return false;
    uint64_t *bits = group->of_pages;
    for (unsigned page = first, stop; page < end; page = stop) {
        stop = end_in_word(page, end);
        set_in_word(residence, &bits[page / 64], page % 64, (stop - 1) % 64 + 1, resident);
    }
    return true;
}

/* Returns whether any page of a huge page is resident. */
static bool is_touched(const struct page_group *group, unsigned huge)
{
    if (group->of_pages == NULL || group->of_pages == ALL_RESIDENT)
        return group->of_pages != NULL;
    const uint64_t *bits = (const uint64_t *)group->of_pages + huge * PAGES_OF_HUGE / 64;
    for (unsigned word = 0; word < PAGES_OF_HUGE / 64; word++)
        if (bits[word] != 0)
            return true;
    return false;
}

/* Changes pages like set_pages() and honours huge pages. A huge page becomes resident as a whole.
 * After a part of it was returned to the system, it behaves like ordinary pages. */
static bool set_in_group(struct residence *residence, struct page_group *group, unsigned first,
                         unsigned end, bool resident)
{
    unsigned last = (end - 1) / PAGES_OF_HUGE;
    for (unsigned huge = first / PAGES_OF_HUGE; huge <= last && group->huge != 0; huge++) {
        uint8_t bit = (uint8_t)(1U << huge);
        unsigned start = huge * PAGES_OF_HUGE;
        bool is_whole = first <= start && start + PAGES_OF_HUGE <= end;
        if ((group->huge & bit) == 0)
            continue;
        if (!resident && is_whole)
            group->split = (uint8_t)(group->split & ~bit);
        else if (!resident && is_touched(group, huge))
            group->split |= bit;
        else if (resident && (group->split & bit) == 0 && !is_touched(group, huge) &&
                 !set_pages(residence, group, start, start + PAGES_OF_HUGE, true))
            return false;
    }
    return set_pages(residence, group, first, end, resident);
}

static void use_huge_pages(struct heap *heap, struct residence *residence, uint64_t address,
                           uint64_t size)
{
    if (residence == NULL)
        return;
    uint64_t whole = PAGES_OF_HUGE * residence->page;
    for (uint64_t huge = (address + whole - 1) / whole; huge < (address + size) / whole; huge++) {
        struct page_group *group = page_table_group(&residence->table, huge / HUGE_OF_GROUP);
        if (group == NULL) {
            heap_fail(heap, OUT_OF_MEMORY);
            return;
        }
        group->huge |= (uint8_t)(1U << huge % HUGE_OF_GROUP);
    }
}

void heap_use_huge_pages(struct heap *heap, uint64_t address, uint64_t size)
{
    use_huge_pages(heap, heap->residence, address, size);
    use_huge_pages(heap, heap->touched, address, size);
}

/* Returns the number of resident pages in [first, end) of one group. */
static uint64_t count_in_group(const struct page_group *group, unsigned first, unsigned end)
{
    if (group == NULL || group->of_pages == NULL)
        return 0;
    if (group->of_pages == ALL_RESIDENT)
        return end - first;
    const uint64_t *bits = group->of_pages;
    uint64_t count = 0;
    for (unsigned page = first, stop; page < end; page = stop) {
        stop = end_in_word(page, end);
        uint64_t mask = bits_between(page % 64, (stop - 1) % 64 + 1);
        count += (uint64_t)__builtin_popcountll(bits[page / 64] & mask);
    }
    return count;
}

/* Returns the number of resident pages in [first, end). */
static uint64_t count_pages(const struct residence *residence, uint64_t first, uint64_t end)
{
    uint64_t count = 0;
    while (first < end) {
        uint64_t number = first / PAGES_OF_GROUP, next;
        uint64_t start = number * PAGES_OF_GROUP;
        const struct page_group *group = find_group(residence, number, &next);
        uint64_t stop = end < next * PAGES_OF_GROUP ? end : next * PAGES_OF_GROUP;
        count += group == &group_in_run
                     ? stop - first
                     : count_in_group(group, (unsigned)(first - start), (unsigned)(stop - start));
        first = stop;
    }
    return count;
}

uint64_t heap_resident_in(const struct heap *heap, uint64_t address, uint64_t size)
{
    const struct residence *residence = heap->residence;
    if (residence == NULL)
        return 0;
    uint64_t page = residence->page;
    return page * count_pages(residence, (address + page - 1) / page,
                              (address + size + page - 1) / page);
}

uint64_t residence_bytes(const struct residence *residence, uint64_t address, uint64_t size)
{
    uint64_t page = residence->page;
    uint64_t first = address / page, last = (address + size - 1) / page;
    uint64_t bytes = page * count_pages(residence, first, last + 1);
    if (count_pages(residence, first, first + 1) > 0)
        bytes -= address - first * page;
    if (count_pages(residence, last, last + 1) > 0)
        bytes -= (last + 1) * page - (address + size);
    return bytes;
}

/* Adds the last pages of [first, end) to `known`, or removes all pages of [first, end) from it. */
static void note_known(struct residence *residence, uint64_t first, uint64_t end, bool resident)
{
    if (end - first > KNOWN_PAGES) {
        first = end - KNOWN_PAGES;
        if (!resident)
            memset(residence->known, 0, sizeof residence->known);
    }
    for (uint64_t page = first; page < end; page++)
        residence->known[place_of(page)] = resident ? page + 1 : 0;
}

/* Returns the number of resident pages from `page` on, as far as one word or one full run shows. */
static uint64_t run_from(const struct residence *residence, uint64_t page)
{
    uint64_t next;
    const struct page_group *group = find_group(residence, page / PAGES_OF_GROUP, &next);
    uint64_t number = page % PAGES_OF_GROUP;
    if (group == NULL || group->of_pages == NULL)
        return 0;
    if (group->of_pages == ALL_RESIDENT)
        return next * PAGES_OF_GROUP - page;
    uint64_t absent = ~((const uint64_t *)group->of_pages)[number / 64] >> number % 64;
    return absent == 0 ? 64 - number % 64 : (uint64_t)__builtin_ctzll(absent);
}

/* Extends or shortens the dense range after a change of pages from `first` on. */
static void note_dense(struct residence *residence, uint64_t first, bool resident)
{
    uint64_t dense = residence->dense / residence->page;
    if (!resident && first < dense)
        residence->dense = first * residence->page;
    else if (resident && first <= dense)
        residence->dense += run_from(residence, dense) * residence->page;
}

/* Returns the number of resident pages that the table has in whole groups. If `clear` is set, also
 * drops these pages, but keeps the marks of huge pages. Sets `is_huge` if a group has huge
 * pages. */
static uint64_t pages_of_groups(struct residence *residence, uint64_t first, uint64_t end,
                                bool clear, bool *is_huge)
{
    struct page_table *table = &residence->table;
    /* The table has fewer entries than the range. */
    bool by_entry = end - first > table->capacity;
    uint64_t pages = 0;
    for (uint64_t i = 0; i < (by_entry ? table->capacity : end - first); i++) {
        struct page_group *group = by_entry ? &table->groups[i]
                                            : (struct page_group *)page_table_find(table, first + i);
        if (group == NULL || group->key <= first || group->key > end)
            continue;
        pages += pages_in(group);
        *is_huge |= group->huge != 0;
        if (clear)
            release_bits(group);
    }
    return pages;
}

/* Makes whole groups one run, or removes them from all runs. Returns false without a change if a
 * group has huge pages. Returns true, with the heap's failure set, if memory is exhausted. */
static bool set_run(struct heap *heap, struct residence *residence, uint64_t first, uint64_t end,
                    bool resident)
{
    bool is_huge = false;
    uint64_t before = PAGES_OF_GROUP * page_runs_count(&residence->runs, first, end) +
                      pages_of_groups(residence, first, end, false, &is_huge);
    if (is_huge)
        return false;
    if (!heap_needs(heap, page_runs_set(&residence->runs, first, end, resident)))
        return true;
    pages_of_groups(residence, first, end, true, &is_huge);
    uint64_t after = resident ? (end - first) * PAGES_OF_GROUP : 0;
    residence->pages += after - before;
    residence->faults += resident ? after - before : 0;
    return true;
}

/* Returns the entry of a group after removing the group from all runs. Returns NULL if memory is
 * exhausted. */
static struct page_group *group_outside_runs(struct residence *residence, uint64_t number)
{
    struct page_group *group = page_table_group(&residence->table, number);
    if (group == NULL || residence->runs.count == 0 ||
        page_runs_find(&residence->runs, number) == NULL)
        return group;
    if (!page_runs_set(&residence->runs, number, number + 1, false))
        return NULL;
    group->of_pages = ALL_RESIDENT;
    return group;
}

static void set_in(struct heap *heap, struct residence *residence, uint64_t first, uint64_t end,
                   bool resident)
{
    while (first < end) {
        uint64_t number = first / PAGES_OF_GROUP;
        uint64_t start = number * PAGES_OF_GROUP;
        if (first == start && end / PAGES_OF_GROUP - number >= MANY_GROUPS &&
            set_run(heap, residence, number, end / PAGES_OF_GROUP, resident)) {
            first = end / PAGES_OF_GROUP * PAGES_OF_GROUP;
            if (heap->failure != NULL)
                return;
            continue;
        }
        uint64_t stop = end < start + PAGES_OF_GROUP ? end : start + PAGES_OF_GROUP, next;
        if (resident && find_group(residence, number, &next) == &group_in_run) {
            first = stop;
            continue;
        }
        struct page_group *group = group_outside_runs(residence, number);
        if (!heap_needs(heap, group != NULL && set_in_group(residence, group,
                                                            (unsigned)(first - start),
                                                            (unsigned)(stop - start), resident)))
            return;
        first = stop;
    }
}

void residence_set(struct heap *heap, uint64_t first, uint64_t end, bool resident)
{
    set_in(heap, heap->residence, first, end, resident);
    note_known(heap->residence, first, end, resident && heap->failure == NULL);
    note_dense(heap->residence, first, resident);
    if (heap->touched != NULL && resident)
        set_in(heap, heap->touched, first, end, true);
}

void residence_forget(struct heap *heap, uint64_t first, uint64_t end)
{
    set_in(heap, heap->residence, first, end, false);
    note_known(heap->residence, first, end, false);
    note_dense(heap->residence, first, false);
    if (heap->touched != NULL)
        set_in(heap, heap->touched, first, end, false);
}

/* Returns whether a page is resident. Sets `next` to the next page that may be in another state. */
static bool is_resident(const struct residence *residence, uint64_t page, uint64_t *next)
{
    const struct page_group *group = find_group(residence, page / PAGES_OF_GROUP, next);
    *next *= PAGES_OF_GROUP;
    if (group == NULL || group->of_pages == NULL || group->of_pages == ALL_RESIDENT)
        return group != NULL && group->of_pages != NULL;
    *next = page + 1;
    const uint64_t *bits = group->of_pages;
    return bits[page % PAGES_OF_GROUP / 64] >> page % 64 & 1;
}

void heap_take_pages(struct heap *heap, uint64_t address, uint64_t source, uint64_t size)
{
    struct residence *residence = heap->residence;
    if (residence == NULL)
        return;
    uint64_t faults = residence->faults;
    uint64_t first = source / residence->page, to = address / residence->page;
    uint64_t end = (source + size + residence->page - 1) / residence->page;
    for (uint64_t page = first, next; page < end; page = next) {
        bool resident = is_resident(residence, page, &next);
        if (next > end)
            next = end;
        if (resident)
            residence_set(heap, to + (page - first), to + (next - first), true);
    }
    residence->faults = faults;
}

void residence_touch(struct heap *heap, uint64_t address, uint64_t size)
{
    const struct residence *residence = heap->residence;
    if (LIKELY(address + size <= residence->dense))
        return;
    uint64_t first = page_of(residence, address);
    uint64_t last = page_of(residence, address + size - 1);
    bool is_known = last - first <= 1 && knows(residence, first) && knows(residence, last);
    if (UNLIKELY(!is_known))
        residence_set(heap, first, last + 1, true);
}
