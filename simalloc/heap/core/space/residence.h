/* The resident pages of the heap. A page is resident from the first write after its mapping until it
 * is returned to the system.
 *
 * Pages are counted from address 0, and mapped segments begin at a multiple of the page. */
#ifndef SIMALLOC_RESIDENCE_H
#define SIMALLOC_RESIDENCE_H

#include "space/heap.h"
#include "space/page_runs.h"
#include "space/page_table.h"

enum { KNOWN_BITS = 10, KNOWN_PAGES = 1 << KNOWN_BITS };

/* After each event:
 *
 *   pages          == number of bits that are set in the table
 *   pages * page   == heap_resident()
 *   faults         >= pages: a page that is returned and written again counts twice
 *   dense % page   == 0, and the bits of all pages below dense / page are set
 *   known[i]       == 0, or known[i] - 1 is a resident page with the lowest bits i */
struct residence {
    uint64_t page;  /* scaled bytes of a page */
    unsigned shift; /* log2 of the page in bytes; 0: the page is not a power of two */
    uint64_t pages; /* number of resident pages */
    uint64_t noted; /* number of resident pages at the last measurement */
    uint64_t faults; /* pages that have become resident, again or for the first time */
    uint64_t dense;  /* bytes; all pages below this address are resident */
    struct page_table table; /* a bit a page; NULL for an empty group, ALL_RESIDENT for a full one */
    struct page_runs runs;   /* runs of resident groups, which have no data in the table */
    uint64_t known[KNOWN_PAGES]; /* a cache of resident pages: number + 1, at its lowest bits */
};

/* Begins to keep track of a heap's pages; false when memory is exhausted. */
bool residence_init(struct heap *heap, uint64_t page);
void residence_release(struct heap *heap);

/* Starts to keep also the set of pages that have been resident at any time since they were mapped.
 * Called before the first event. Returns false if memory is exhausted. */
bool residence_keep_touched(struct heap *heap);

/* Makes the pages from number `first` to before `end` resident, or no longer so. The heap fails when
 * memory is exhausted. */
void residence_set(struct heap *heap, uint64_t first, uint64_t end, bool resident);

/* Forgets the pages from number `first` to before `end`, which are not mapped any more. */
void residence_forget(struct heap *heap, uint64_t first, uint64_t end);

/* Lets there be huge pages in a segment, where whole ones lie in these bytes. The heap fails when
 * memory is exhausted. */
void heap_use_huge_pages(struct heap *heap, uint64_t address, uint64_t size);

/* The scaled bytes of all resident pages; 0 if they are not kept track of. */
uint64_t heap_resident(const struct heap *heap);

/* The scaled bytes of the resident pages that begin in these bytes. */
uint64_t heap_resident_in(const struct heap *heap, uint64_t address, uint64_t size);

/* The number of these bytes, at least one, that lie in resident pages. */
uint64_t residence_bytes(const struct residence *residence, uint64_t address, uint64_t size);

/* Moves residence with mremap: makes pages from `address` on resident if the pages of `size` bytes
 * from `source` on are. Both addresses are page-aligned. */
void heap_take_pages(struct heap *heap, uint64_t address, uint64_t source, uint64_t size);

/* Makes the pages of some bytes resident. */
void residence_touch(struct heap *heap, uint64_t address, uint64_t size);

/* Notes that the program or the allocator writes these bytes. */
ALWAYS_INLINE void heap_touch(struct heap *heap, uint64_t address, uint64_t size)
{
    if (heap->residence != NULL && size > 0)
        residence_touch(heap, address, size);
}

/* Gives the pages back that lie wholly within these bytes, which remain mapped. */
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
