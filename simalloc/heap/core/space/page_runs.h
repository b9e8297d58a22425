/* Sorted runs of groups whose pages are all resident. They keep the memory for a large object
 * independent of its size. page_table.h defines the number of a group. */
#ifndef SIMALLOC_PAGE_RUNS_H
#define SIMALLOC_PAGE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

struct page_run {
    uint64_t first; /* number of the first group */
    uint64_t end;   /* number of the last group + 1 */
};

/* runs[i].first < runs[i].end < runs[i + 1].first */
struct page_runs {
    struct page_run *runs;
    uint32_t count;
    uint32_t capacity;
};

void page_runs_release(struct page_runs *set);

/* Returns the run that contains a group, or NULL. */
const struct page_run *page_runs_find(const struct page_runs *set, uint64_t number);

/* Returns the number of groups in [first, end) that are in runs. */
uint64_t page_runs_count(const struct page_runs *set, uint64_t first, uint64_t end);

/* Adds the groups in [first, end) to the runs, or removes them. Returns false, with the runs
 * unchanged, if memory is exhausted. */
bool page_runs_set(struct page_runs *set, uint64_t first, uint64_t end, bool present);

#endif
