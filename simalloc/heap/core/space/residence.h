/* Record of the resident pages of a heap. A page is resident from the first write after its mapping
 * until it is returned to the system.
 *
 * Page n begins at address n * page. Mapped segments begin at a multiple of the page. */
#ifndef SIMALLOC_RESIDENCE_H
#define SIMALLOC_RESIDENCE_H

#include "space/heap.h"
#include "space/page_runs.h"
#include "space/page_table.h"

enum { KNOWN_BITS = 10, KNOWN_PAGES = 1 << KNOWN_BITS };

/* After each event:
 *
 *   pages          == number of resident pages in the table and in the runs
 *   pages * page   == heap_resident()
 *   faults         >= pages: a page that is returned and written again counts twice
 *   dense % page   == 0, and the bits of all pages below dense / page are set
 *   known[i]       == 0, or known[i] - 1 is a resident page with the hash i */
struct residence {
    uint64_t page;  /* bytes of a page, scaled */
    unsigned shift; /* log2(page), or 0 if the page is not a power of two */
    uint64_t pages;
    uint64_t noted; /* number of resident pages at the last measurement */
    uint64_t faults; /* number of times that a page became resident */
    uint64_t dense;  /* address; all pages below are resident */
    /* One bit per page; NULL for an empty group, ALL_RESIDENT for a full group. */
    struct page_table table;
    struct page_runs runs;   /* runs of full groups, which have no data in the table */
    /* Cache of resident pages: page number + 1, indexed by a hash of the number. */
    uint64_t known[KNOWN_PAGES];
};

/* Starts the record of a heap's resident pages. Returns false if memory is exhausted. */
bool residence_init(struct heap *heap, uint64_t page);
void residence_release(struct heap *heap);

/* Starts a second record, of all pages touched since they were mapped. It must be called before the
 * first event. Returns false if memory is exhausted. */
bool residence_keep_touched(struct heap *heap);

/* Makes the pages in [first, end) resident, or no longer resident. Sets the heap's failure if
 * memory is exhausted. */
void residence_set(struct heap *heap, uint64_t first, uint64_t end, bool resident);

/* Removes the pages in [first, end) from all records, because they are no longer mapped. */
void residence_forget(struct heap *heap, uint64_t first, uint64_t end);

/* Marks every huge page that is wholly within these bytes, so that it becomes resident as a whole.
 * Sets the heap's failure if memory is exhausted. */
void heap_use_huge_pages(struct heap *heap, uint64_t address, uint64_t size);

/* Returns the scaled bytes of all resident pages, or 0 without a record. */
uint64_t heap_resident(const struct heap *heap);

/* Returns the scaled bytes of the resident pages that begin within these bytes. */
uint64_t heap_resident_in(const struct heap *heap, uint64_t address, uint64_t size);

/* Returns the number of these bytes that are in resident pages. `size` is at least 1. */
uint64_t residence_bytes(const struct residence *residence, uint64_t address, uint64_t size);

/* Transfers residence as mremap() does: for each resident page in `size` bytes from `source`, the
 * corresponding page from `address` on becomes resident. Both addresses are page-aligned. */
void heap_take_pages(struct heap *heap, uint64_t address, uint64_t source, uint64_t size);

/* Makes all pages that overlap these bytes resident. */
void residence_touch(struct heap *heap, uint64_t address, uint64_t size);

/* Records that the program or the allocator writes these bytes. */
ALWAYS_INLINE void heap_touch(struct heap *heap, uint64_t address, uint64_t size)
{
    if (heap->residence != NULL && size > 0)
        residence_touch(heap, address, size);
}

/* Returns all pages that are wholly within these bytes to the system. The bytes remain mapped. */
ALWAYS_INLINE void heap_discard(struct heap *heap, uint64_t address, uint64_t size)
{
    heap->counters.system_calls++;
    if (heap->residence == NULL)
        return;
    uint64_t page = heap->setting.page;
    uint64_t first = (address + page - 1) / page;
    uint64_t end = (address + size) / page;
    if (first < end)
        residence_set(heap, first, end, false);
}

#endif
