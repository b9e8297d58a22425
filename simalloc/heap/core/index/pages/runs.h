/* Free runs of pages in the order of their addresses, with a sentinel before the lowest, which is
 * NO_BLOCK.
 *
 * The real allocators walk from run to run. This list finds the run at which such a walk would end,
 * and how many runs it would visit. A run in the list counts as a free block. */
#ifndef SIMALLOC_RUNS_H
#define SIMALLOC_RUNS_H

#include "index/list/block_list.h"

struct runs {
    struct block_list list;
};

/* All runs consist of whole pages. False when memory is exhausted. */
bool runs_init(struct runs *runs, struct heap *heap, uint64_t page);
void runs_release(struct runs *runs);

/* Returns the highest run, or NO_BLOCK. */
uint32_t runs_highest(const struct runs *runs);

/* The next run by address; behind the highest the sentinel, and behind that the lowest. */
uint32_t runs_next(const struct runs *runs, uint32_t id);

/* Returns the first run of at least `size` bytes on a circular walk from `from`, a run or the
 * sentinel; NO_BLOCK if no run is large enough. Adds the runs that the walk visits to `visited`. */
uint32_t runs_find(struct runs *runs, uint32_t from, uint64_t size, uint64_t *visited);

void runs_remove(struct runs *runs, uint32_t id);

/* Makes a block that is not counted as allocated a free run, merged with its neighbours. Returns
 * the run. The replay fails when memory is exhausted. */
uint32_t runs_free(struct runs *runs, uint32_t id);

/* Takes the low end of a run; the remainder keeps its place and its id. Returns the block taken,
 * not yet counted as allocated. Sets `rest` to the remainder, or NO_BLOCK. */
uint32_t runs_take(struct runs *runs, uint32_t id, uint64_t size, uint32_t *rest);

/* Notes that the high end of a run has moved. */
void runs_resized(struct runs *runs, uint32_t id);

/* Returns a description of the first fault in the runs, or NULL. */
const char *runs_check(const struct runs *runs);

#endif
