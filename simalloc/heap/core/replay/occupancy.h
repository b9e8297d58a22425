/* Pages that hold at least one live byte: the memory of a program if every other page could be
 * returned to the system. Maas et al. 2020 and Hunter et al. 2021 study this figure for huge pages.
 */
#ifndef SIMALLOC_OCCUPANCY_H
#define SIMALLOC_OCCUPANCY_H

#include "space/heap.h"
#include "space/page_table.h"

enum { MAX_PAGE_SIZES = 8 };

/* The scaled bytes of an object; size 0 if it is not live, or has no bytes. */
struct live_extent {
    uint64_t address;
    uint64_t size;
};

struct occupied_pages {
    uint64_t page;  /* its size in scaled bytes */
    uint64_t pages; /* number of pages with a live byte */
    struct page_table counts; /* number of objects that begin or end in each page, uint32_t */
};

struct occupancy {
    size_t sizes; /* number of page sizes; 0: occupancy is not measured */
    struct occupied_pages of[MAX_PAGE_SIZES];
    struct live_extent *extents; /* extent of the object in each slot */
    uint32_t slots;
};

/* False when memory is exhausted. */
bool occupancy_init(struct occupancy *occupancy);
void occupancy_release(struct occupancy *occupancy);

/* Notes where the object in a slot is now; false when memory is exhausted. */
bool occupancy_move(struct occupancy *occupancy, uint32_t slot, struct live_extent now);

#endif
