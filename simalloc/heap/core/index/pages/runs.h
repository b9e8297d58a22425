/* Free runs of pages in address order, with the sentinel NO_BLOCK before the lowest run.
 *
 * Real allocators walk from run to run. This list finds the run at which such a walk ends, and the
 * number of runs that it visits. A run in the list counts as a free block. */
#ifndef SIMALLOC_RUNS_H
#define SIMALLOC_RUNS_H

#include "index/list/block_list.h"

struct runs {
    struct block_list list;
};

/* Initialises a list whose runs consist of whole pages. Returns false if memory is exhausted. */
bool runs_init(struct runs *runs, struct heap *heap, uint64_t page);
void runs_release(struct runs *runs);

/* Returns the highest run, or NO_BLOCK. */
uint32_t runs_highest(const struct runs *runs);

/* Returns the next run by address. The sentinel follows the highest run, and the lowest run follows
 * the sentinel. */
uint32_t runs_next(const struct runs *runs, uint32_t id);

/* Returns the first run with at least `size` bytes on a circular walk, or NO_BLOCK. The walk starts
 * at `from`, a run or the sentinel. Adds the number of visited runs to `visited`. */
uint32_t runs_find(struct runs *runs, uint32_t from, uint64_t size, uint64_t *visited);

void runs_remove(struct runs *runs, uint32_t id);

/* Makes a block a free run and merges it with free neighbours. The block must not be counted as
 * allocated. Returns the run. Sets the heap's failure if memory is exhausted. */
uint32_t runs_free(struct runs *runs, uint32_t id);

/* Cuts the low `size` bytes off a run. The remainder keeps its place and its id. Returns the block
 * that was cut off, which is not counted as allocated yet. Sets `rest` to the remainder, or to
 * NO_BLOCK without one. */
uint32_t runs_take(struct runs *runs, uint32_t id, uint64_t size, uint32_t *rest);

/* Updates a run whose high end has moved. */
void runs_resized(struct runs *runs, uint32_t id);

/* Returns a description of the first fault in the runs, or NULL. */
const char *runs_check(const struct runs *runs);

#endif
