/* Occupied pages, which contain at least one live byte: the memory of a program if all other pages
 * could be returned to the system. Maas et al. 2020 and Hunter et al. 2021 study this figure for
 * huge pages. */
#ifndef SIMALLOC_OCCUPANCY_H
#define SIMALLOC_OCCUPANCY_H

#include "space/heap.h"
#include "space/page_table.h"

enum { MAX_PAGE_SIZES = 8 };

/* Scaled bytes of an object. The size is 0 if the object is not live or has no bytes. */
struct live_extent {
    uint64_t address;
    uint64_t size;
};

struct occupied_pages {
    uint64_t page;  /* scaled bytes of a page */
    uint64_t pages; /* number of pages with a live byte */
    /* Number of objects that begin or end in each page, of type uint32_t. */
    struct page_table counts;
};

struct occupancy {
    size_t sizes; /* number of page sizes, or 0 if occupancy is not measured */
    struct occupied_pages of[MAX_PAGE_SIZES];
    struct live_extent *extents; /* by slot: extent of the object */
    uint32_t slots;
};

/* Initialises the tables of all page sizes. Returns false if memory is exhausted. */
bool occupancy_init(struct occupancy *occupancy);
void occupancy_release(struct occupancy *occupancy);

/* Records the present extent of the object in a slot. Returns false if memory is exhausted. */
bool occupancy_move(struct occupancy *occupancy, uint32_t slot, struct live_extent now);

#endif
