/* Which pages of the heap are resident: those in which a byte was written since they were mapped,
 * until they are given back.
 *
 * Pages are counted from address 0, and mapped segments begin at a multiple of the page. */
#ifndef SIMALLOC_RESIDENCE_H
#define SIMALLOC_RESIDENCE_H

#include "space/heap.h"
#include "space/page_table.h"

enum { KNOWN_BITS = 10, KNOWN_PAGES = 1 << KNOWN_BITS };

struct residence {
    uint64_t page;  /* its size in scaled bytes */
    unsigned shift; /* of which this power of two is; 0: it is none */
    uint64_t pages; /* that are resident now */
    uint64_t faults; /* pages that have become resident, again or for the first time */
    struct page_table table; /* a bit a page; of a group without any NULL, with all ALL_RESIDENT */
    uint64_t known[KNOWN_PAGES]; /* some that are resident, in their places: their numbers plus 1 */
};

/* Begins to keep track of a heap's pages; false when memory is exhausted. */
bool residence_init(struct heap *heap, uint64_t page);
void residence_release(struct heap *heap);

/* Begins to keep track also of the pages that were resident since they were mapped, whether they are
 * or were given back; before the first event. False when memory is exhausted. */
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

/* How many of these bytes, of which there are some, lie in pages that are noted. */
uint64_t residence_bytes(const struct residence *residence, uint64_t address, uint64_t size);

/* Makes pages from `address` on resident if those of `size` bytes from `source` on are: both are at
 * the beginning of a page, and mremap has moved what lay there. */
void heap_take_pages(struct heap *heap, uint64_t address, uint64_t source, uint64_t size);

/* The number of the page in which an address is. */
ALWAYS_INLINE uint64_t residence_page(const struct residence *residence, uint64_t address)
{
    return LIKELY(residence->shift > 0) ? address >> residence->shift : address / residence->page;
}

/* The place of a page among those known. Arenas begin at multiples of large powers of two: by their
 * low bits the pages of one would take the places of another's. */
ALWAYS_INLINE uint64_t residence_place(uint64_t page)
{
    return page * UINT64_C(0x9E3779B97F4A7C15) >> (64 - KNOWN_BITS);
}

ALWAYS_INLINE bool residence_knows(const struct residence *residence, uint64_t page)
{
    return residence->known[residence_place(page)] == page + 1;
}

/* Notes that the program or the allocator writes these bytes. */
ALWAYS_INLINE void heap_touch(struct heap *heap, uint64_t address, uint64_t size)
{
    const struct residence *residence = heap->residence;
    if (residence == NULL || size == 0)
        return;
    uint64_t first = residence_page(residence, address);
    uint64_t last = residence_page(residence, address + size - 1);
    bool is_known = last - first <= 1 && residence_knows(residence, first) &&
                    residence_knows(residence, last);
    if (UNLIKELY(!is_known))
        residence_set(heap, first, last + 1, true);
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
