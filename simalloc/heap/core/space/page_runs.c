#include "space/page_runs.h"

#include <string.h>

#include "space/heap.h"
#include "space/table.h"

void page_runs_release(struct page_runs *set)
{
    table_release(set->runs);
    *set = (struct page_runs){0};
}

/* Returns the index of the first run that ends at `number` or later. */
static uint32_t first_reaching(const struct page_runs *set, uint64_t number)
{
    uint32_t low = 0, high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->runs[middle].end < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct page_run *page_runs_find(const struct page_runs *set, uint64_t number)
{
    uint32_t at = first_reaching(set, number + 1);
    return at < set->count && set->runs[at].first <= number ? &set->runs[at] : NULL;
}

uint64_t page_runs_count(const struct page_runs *set, uint64_t first, uint64_t end)
{
    uint64_t count = 0;
    for (uint32_t at = first_reaching(set, first); at < set->count; at++) {
        const struct page_run *run = &set->runs[at];
        if (run->first >= end)
            break;
        count += (run->end < end ? run->end : end) - (run->first > first ? run->first : first);
    }
    return count;
}

bool page_runs_set(struct page_runs *set, uint64_t first, uint64_t end, bool present)
{
    if (!TABLE_SPARE(set->runs, set->count, 1, UINT32_MAX, set->capacity))
        return false;
    uint32_t at = first_reaching(set, first), after = at;
    struct page_run left = {first, first}, right = {end, end};
    for (; after < set->count && set->runs[after].first <= end; after++) {
        if (set->runs[after].first < first)
            left.first = set->runs[after].first;
        if (set->runs[after].end > end)
            right.end = set->runs[after].end;
    }
    struct page_run kept[2];
    uint32_t count = 0;
    if (present) {
        kept[count++] = (struct page_run){left.first, right.end};
    } else {
        if (left.first < left.end)
            kept[count++] = left;
        if (right.first < right.end)
            kept[count++] = right;
    }
    memmove(&set->runs[at + count], &set->runs[after],
            (set->count - after) * sizeof *set->runs);
    memcpy(&set->runs[at], kept, count * sizeof *kept);
    set->count = set->count - (after - at) + count;
    return true;
}
