/* Cells of a heap map: the share of each range of addresses that was live during each range of
 * events.
 *
 * The plane of events and addresses is divided into cells of equal size. While a block keeps its
 * address and size, it covers a rectangle of the plane. A cell sums up the parts of rectangles that
 * cover it, in byte-events. */
#ifndef SIMALLOC_CELLS_H
#define SIMALLOC_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* Cells, column by column. Their sums are exact until they are converted to doubles. */
struct heap_map {
    int64_t first_event;
    int64_t last_event; /* one past the last event of the window, within the last column */
    uint64_t lowest_address;
    int64_t cell_events;
    uint64_t cell_bytes;
    size_t columns;
    size_t rows;
    double *live; /* byte-events covered, scaled */
    double *born; /* byte-events weighted by the event of the block's birth, scaled */
};

/* A block that keeps its address and size. */
struct stay {
    uint64_t address;
    uint64_t size;
    int64_t birth; /* event that placed the object at this address */
    int64_t since; /* event that gave the block this size */
    int64_t until;
};

struct sums;

/* Returns empty cells for a map, or NULL if memory is exhausted. */
struct sums *cells_new(const struct heap_map *map);
/* Adds the rectangle of a stay to the cells. */
void cells_cover(const struct heap_map *map, struct sums *cells, const struct stay *stay);
/* Computes the sums of all cells and stores them in the map. */
void cells_add_up(const struct heap_map *map, struct sums *cells);

#endif
