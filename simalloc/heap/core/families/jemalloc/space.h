/* The address space that jemalloc's arenas share: metadata, mappings, and neighbouring extents. */
#ifndef SIMALLOC_JEMALLOC_SPACE_H
#define SIMALLOC_JEMALLOC_SPACE_H

#include <stdlib.h>
#include "families/jemalloc/extents.h"

enum { TABLE_HEADER = 144, TABLE_QUANTUM = 16, RECORD = 128, CACHE_LINE = 64 };

#define FIRST_TOP UINT64_C(0x7FFFE5800000) /* end of the first mapping */

/* Maps a block of metadata. Returns NULL if memory is exhausted. */
struct table_block *jemalloc_add_table_block(struct jemalloc *state, struct metadata *tables,
                                             uint64_t size);

/* Allocates bytes of metadata. Returns their address, or 0 if nothing was allocated. */
uint64_t jemalloc_allocate_table(struct jemalloc *state, struct metadata *tables, uint64_t size,
                                 uint64_t alignment);

/* Reserves entries for a few more extents. Returns false, with the heap's failure set, if memory is
 * exhausted. */
bool jemalloc_reserve_extents(struct jemalloc *state);

/* Enters a page in the address tree, which has a leaf for each GiB in use. */
void jemalloc_register_page(struct jemalloc *state, uint32_t mapping, uint64_t address);

/* Maps an extent for an arena at a multiple of `alignment`. Returns NO_EXTENT if memory or
 * addresses are exhausted. */
uint32_t jemalloc_map_extent(struct jemalloc *state, struct arena *arena, uint64_t size,
                             uint64_t alignment);

/* Reduces an extent, which must be one block, to `size` bytes. Returns the remainder as a new
 * extent. */
uint32_t jemalloc_split_extent(struct jemalloc *state, struct arena *arena, uint32_t number,
                               uint64_t size);

/* Merges an extent with the one above it. Each must be one block, and both must have the same
 * state. */
void jemalloc_merge_extents(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Drops an extent whose addresses are not retained. */
void jemalloc_forget_extent(struct jemalloc *state, struct arena *arena, uint32_t number);

/* Changes the state of an extent, which must be one block. The pages of a hole are returned to the
 * system. */
void jemalloc_set_state(struct jemalloc *state, uint32_t number, uint32_t block_state);

#endif
